"""The bases, methods that have a name of their own, and the check of the names in an expression; nothing heavy is imported for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fl_config.errors import ConfigError, nearest
from fl_config.parts import installed_plugins
from fl_strategies.parts import parts_on_disk


@dataclass(frozen=True)
class Base:
    """A method that has a name of its own: the class that it is for app authors, and what makes it the method."""

    class_name: str
    parts: tuple[str, ...]
    weighting: str = "size"  # what it weighs by unless a plug-in says otherwise
    title: str = ""
    settings: tuple[tuple[str, str], ...] = ()  # parameters by dotted key that make it this method and no other
    equation: str = ""  # LaTeX, where those parameters make it another one than its part's


# A part needs a row here only where it is also a base of its own.
BASES: dict[str, Base] = {
    "fedavg": Base("FedAvg", (), title="federated averaging"),
    "local": Base("Local", ("local",), title="every client alone, the lower bar"),
    "fedper": Base("FedPer", ("per",)),
    "fedbabu": Base("FedBABU", ("babu",)),
    "scaffold": Base("Scaffold", ("scaffold",), "uniform"),
    "feddyn": Base("FedDyn", ("dyn",), "uniform"),
    "feddc": Base("FedDC", ("dc",), "uniform"),
    "fedssg": Base("FedSSG", ("ssg",), "uniform"),
    "fedvra": Base("FedVRA", ("vra",), "uniform"),
    "fedspeed": Base("FedSpeed", ("speed",), "uniform"),
    "fedprox": Base("FedProx", ("prox",)),
    "moon": Base("MOON", ("moon",)),
    "fedntd": Base("FedNTD", ("ntd",)),
    "feddecorr": Base("FedDecorr", ("decorr",)),
    "fedsam": Base("FedSAM", ("sam",)),
    "fednova": Base("FedNova", ("nova",)),
    "fedavgm": Base("FedAvgM", ("avgm",)),
    "fedadam": Base("FedAdam", ("adam",)),
    "fedyogi": Base("FedYogi", ("yogi",)),
    "fedadagrad": Base("FedAdagrad", ("adagrad",)),
    "fedexp": Base("FedExP", ("exp",)),
    "feddf": Base("FedDF", ("df",)),
    "asd": Base("ASD", ("asd",), title="FedAvg with adaptive self-distillation"),
    "feddisco": Base("FedDisco", ("disco",)),
    "fedssa": Base("FedSSA", ("ssa",)),
    "fedssa-shares": Base(
        "FedSSAShares",
        ("ssa",),
        title="FedSSA with weights by which the model predicts the target's class shares",
        settings=(("ssa.criterion", "shares"),),
        equation=r"""
            q &= \arg\min_{q \in \Delta} \; \Bigl\lVert S^{-1/2} \Bigl( \sum_c q_c \frac{A_c}{n_c} - \bar\varphi_U \Bigr) \Bigr\rVert^2
                + \pi \, \operatorname{KL} \Bigl( q \,\|\, \frac{n}{\sum_c n_c} \Bigr) \\
            w &= \arg\min_{w \in \Delta} \; \operatorname{KL}(\bar y_w \,\|\, q) + \lambda_{\mathrm{we}} \sum_k w_k \log w_k, \qquad
                \bar y_w = \frac{1}{|U|} \sum_{x \in U} \operatorname{softmax} f \Bigl( x; \sum_k w_k \theta_k \Bigr)
        """,
    ),
    "afl": Base("AFL", ("afl",)),
    "fedcuau": Base("FedCUAU", ("cuau",), title="clusters by the skew of their labels"),
}


def check_names(expression: str, plugins: Collection[str]) -> list[str]:
    """The base and the plug-ins of `feddyn+disco+asd`; a sentence for a name that does not exist."""
    base, *added = names = [word.strip().lower() for word in expression.split("+")]
    if base not in BASES:
        raise ConfigError(f"There is no strategy {base!r}{nearest(base, BASES)} `fedloom strategies` lists them all.")
    for name in added:
        if name not in plugins:
            raise ConfigError(
                f"There is no plug-in {name!r}{nearest(name, plugins)} Plug-ins are {', '.join(plugins)}."
            )
    return names


def check_names_early(expression: str, own_plugins: bool = False) -> None:
    """The same before anything is imported, so that a wrong name is told at once. Where there are plug-ins, only reading them tells."""
    base, _, added = expression.partition("+")
    known = [name for name, plugin in parts_on_disk().items() if plugin] if added else []
    sure = not added or (known and not own_plugins and not installed_plugins())
    check_names(expression if sure else base, known)
