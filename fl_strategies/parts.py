"""Every part that a method can be woven from: its slot, its classes, its paper. Adding one is a file and a row here."""

from __future__ import annotations

from dataclasses import dataclass

from clients.objectives import OBJECTIVES, OPTIMIZERS
from clients.optimizers import SpeedParams
from fl_config.params import Params
from fl_strategies.clustering.cuau import CuauParams
from fl_strategies.server_update import adaptive, df, exp, momentum, nova
from fl_strategies.server_update import dc as server_dc
from fl_strategies.server_update import dyn as server_dyn
from fl_strategies.server_update import scaffold as server_scaffold
from fl_strategies.server_update import ssg as server_ssg
from fl_strategies.server_update import vra as server_vra
from fl_strategies.server_update.base import ServerStep
from fl_strategies.topologies.base import Topology
from fl_strategies.topologies.cuau import Clusters
from fl_strategies.weighting import afl, confidence, disco, similarity, size, uniform
from fl_strategies.weighting.base import Weighting
from fl_strategies.weighting.ssa import method as ssa

# In the order in which a recipe's parts are named, applied on the server and added to the loss. A slot takes one part,
# except "objective", which takes any number.
SLOTS = (
    "topology",
    "clusters",
    "drift",
    "weighting",
    "normaliser",
    "server optimiser",
    "polish",
    "objective",
    "optimiser",
)


@dataclass(frozen=True)
class Part:
    slot: str
    paper: str
    what: str
    weighting: type[Weighting] | None = None
    server: type[ServerStep] | None = None
    params: type[Params] = Params
    objective: bool = False  # also a client objective of the same name
    optimizer: bool = False  # also a client optimiser of the same name
    plugin: bool = True  # may stand after a +
    personal: bool = False  # every client ends with a model of its own
    topology: type[Topology] | None = None  # who gets and gives which arrays, where there is more than one model
    remembers: bool = False  # clients keep a model or a correction of theirs between rounds


def _weighting(kind: type[Weighting], paper: str, what: str) -> Part:
    return Part("weighting", paper, what, weighting=kind, params=kind.Params)


def _objective(name: str, paper: str, what: str, remembers: bool = False) -> Part:
    return Part("objective", paper, what, objective=True, params=OBJECTIVES[name].Params, remembers=remembers)


def _drift(name: str, server: type[ServerStep], paper: str, what: str) -> Part:
    return Part(
        "drift",
        paper,
        what,
        server=server,
        objective=True,
        params=OBJECTIVES[name].Params,
        plugin=False,
        remembers=True,
    )


def _server(slot: str, kind: type[ServerStep], paper: str, what: str) -> Part:
    return Part(slot, paper, what, server=kind, params=kind.Params)


PARTS: dict[str, Part] = {
    "local": Part("topology", "", "clients train alone and share nothing", plugin=False, personal=True),
    "per": Part("topology", "Arivazhagan et al., 2019", "private heads, a shared body", personal=True),
    "babu": Part(
        "topology", "Oh et al., ICLR 2022", "a fixed head while training, fine-tuned afterwards", personal=True
    ),
    "cuau": Part(
        "clusters",
        "FedCUAU",
        "clusters by skew, a shared trunk and a head for each cluster",
        params=CuauParams,
        personal=True,
        topology=Clusters,
    ),
    "dyn": _drift("dyn", server_dyn.Dyn, "Acar et al., ICLR 2021", "alpha_i (theta - omega + h_i), h_i += Delta_i"),
    "scaffold": _drift("scaffold", server_scaffold.Scaffold, "Karimireddy et al., ICML 2020", "gradient + c - c_i"),
    "dc": _drift("dc", server_dc.Dc, "Gao et al., CVPR 2022", "local drift h_i and gradient state s_i"),
    "ssg": _drift("ssg", server_ssg.Ssg, "FedSSG: Zhou et al.", "FedDC's memory, gated by participation counts"),
    "vra": _drift("vra", server_vra.Vra, "Wang et al., FedVRA, 2023", "dual variables lambda_i += a gamma Delta_i"),
    "speed": Part(
        "drift",
        "Sun et al., ICLR 2023",
        "FedDyn's memory with an extra-gradient step",
        server=server_dyn.Speed,
        params=SpeedParams,
        objective=True,
        optimizer=True,
        plugin=False,
        remembers=True,
    ),
    "size": _weighting(size.Size, "McMahan et al., AISTATS 2017", "p_i = n_i / sum n"),
    "uniform": _weighting(uniform.Uniform, "", "p_i = 1 / m"),
    "disco": _weighting(disco.Disco, "FedDisco: Ye et al., ICML 2023", "p_i ~ ReLU(n_i - a d_i + b)"),
    "ssa": _weighting(
        ssa.Ssa,
        "FedSSA: Customizing Global Model for Arbitrary Target Distributions",
        "weights learned on the server's unlabelled target data",
    ),
    "similarity": _weighting(similarity.Similarity, "FedSSA, appendix D", "p_i ~ mean cosine between two views"),
    "confidence": _weighting(confidence.Confidence, "FedSSA, appendix D", "p_i ~ mean variance of predictions"),
    "afl": _weighting(afl.Afl, "Mohri et al., ICML 2019", "weights climb where the loss is largest"),
    "nova": _server("normaliser", nova.Nova, "Wang et al., NeurIPS 2020", "updates divided by their number of steps"),
    "avgm": _server("server optimiser", momentum.Momentum, "Hsu et al., 2019", "v = beta v + d, omega -= lr v"),
    "adam": _server("server optimiser", adaptive.Adam, "Reddi et al., ICLR 2021", "Adam on the averaged update"),
    "yogi": _server("server optimiser", adaptive.Yogi, "Reddi et al., ICLR 2021", "Yogi on the averaged update"),
    "adagrad": _server(
        "server optimiser", adaptive.Adagrad, "Reddi et al., ICLR 2021", "Adagrad on the averaged update"
    ),
    "exp": _server("server optimiser", exp.Exp, "Jhunjhunwala et al., ICLR 2023", "extrapolated server step"),
    "df": _server("polish", df.Df, "Lin et al., NeurIPS 2020", "ensemble distillation on unlabelled data"),
    "prox": _objective("prox", "Li et al., MLSys 2020", "+ mu/2 |theta - omega|^2"),
    "moon": _objective("moon", "Li et al., CVPR 2021", "+ mu contrast(z; z_global, z_previous)", remembers=True),
    "ntd": _objective("ntd", "Lee et al., NeurIPS 2022", "+ beta tau^2 KL over the not-true classes"),
    "asd": _objective("asd", "ASD: Yashwanth et al.", "+ lambda sum_i alpha_i KL(teacher_i | student_i)"),
    "decorr": _objective("decorr", "Shi et al., ICLR 2023", "+ lambda |correlation of features|^2"),
    "sam": Part(
        "optimiser",
        "Qu et al., ICML 2022",
        "sharpness-aware local steps",
        params=OPTIMIZERS["sam"].Params,
        optimizer=True,
    ),
}
