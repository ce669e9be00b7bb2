"""FedSSG, the client's half: FedDC's memory and gradient state, gated by how often the client was sampled.

Zhou et al., "FedSSG: Expectation-Gated and History-Aware Drift Alignment for Federated Learning". The published numbers
come from the authors' code, hence variant=code is the default. With c_i the client's participations including this
round, q_i = N n_i / n, alpha_i = alpha / q_i, sigma_i = s / q_i, K = E ceil(mean_n / B) (K = E for the full batch):

    gate       rho_i = c_i / (T p) + 1                            computed by the server, sent as a number
    gradient   grad l(theta) + alpha_i h_i + sigma_i - s_i
    after      D_i = rho_i Delta_i;   h_i <- h_i + D_i
               s_i+ = s_i - sigma_i - D_i / (K eta_0),   sent up: s_i+ - s_i

The paper's main text and its appendix describe other methods; a switch left at auto takes the choice of the `variant`:

                  code         main        appendix
    gate          horizon+1    ratio       horizon         c/(Tp) + 1 | c/(pt + eps) | c/(Tp)
    clip_gate     no           yes         no              at 1
    penalty       inner        prox        inner           alpha <h, theta> | alpha/2 |theta - (omega - h)|^2
    gate_penalty  no           yes         no              alpha becomes alpha rho_i
    size_scaled   yes          no          no              alpha becomes alpha / q_i
    correction    feddc_state  none        previous_moves  sigma_i - s_i | 0 | (Delta_i' - Delta omega') / (K eta')
    server        population   population  cohort          mean_S theta + (1/N) sum_all h | mean_S (theta + h)
    lr_in_cv      initial      initial     current         eta_0 | eta_t, and eta' of the last aggregated round

Delta_i' is the client's displacement when it last took part, Delta omega' the last move of the global model, both zero
at first. With client momentum K becomes `effective_steps(K)`, as in FedDC; the authors use no momentum.

Table 6 of the paper, as settings on top of variant=code (the check marks of its fourth row read as xi off, rho = 1):

    empirical loss, xi                         ssg.penalty=none ssg.correction=none
    empirical loss, penalty, xi                ssg.correction=none
    empirical loss, gradient correction, xi    ssg.penalty=none
    all but xi                                 ssg.gate=one
    all four                                   (the defaults)

gate=one with penalty=prox is FedDC exactly.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from clients.effective_steps import effective_steps
from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part

Auto = Literal["auto"]

VARIANTS: dict[str, dict[str, Any]] = {
    "code": {
        "gate": "horizon+1",
        "clip_gate": False,
        "penalty": "inner",
        "gate_penalty": False,
        "size_scaled": True,
        "correction": "feddc_state",
        "server": "population",
        "lr_in_cv": "initial",
    },
    "main": {
        "gate": "ratio",
        "clip_gate": True,
        "penalty": "prox",
        "gate_penalty": True,
        "size_scaled": False,
        "correction": "none",
        "server": "population",
        "lr_in_cv": "initial",
    },
    "appendix": {
        "gate": "horizon",
        "clip_gate": False,
        "penalty": "inner",
        "gate_penalty": False,
        "size_scaled": False,
        "correction": "previous_moves",
        "server": "cohort",
        "lr_in_cv": "current",
    },
}


class SsgParams(Params):
    variant: Literal["code", "main", "appendix"] = Field(
        "code", description="which of the paper's three descriptions fills the switches left at auto"
    )
    alpha: float = Field(
        0.05, ge=0, description="strength of the penalty; 0.03 to 0.06 for 100 clients, 0.2 to 0.7 for 500"
    )
    gate: Literal["auto", "horizon+1", "horizon", "ratio", "one"] = Field(
        "auto", description="rho_i: c/(Tp) + 1, c/(Tp), c/(pt + eps), or 1 (no gate)"
    )
    clip_gate: bool | Auto = Field("auto", description="cut the gate at 1")
    penalty: Literal["auto", "inner", "prox", "none"] = Field(
        "auto", description="alignment term: inner product, proximal, or none"
    )
    gate_penalty: bool | Auto = Field("auto", description="multiply the penalty by the gate")
    size_scaled: bool | Auto = Field("auto", description="divide alpha by the client's relative size")
    correction: Literal["auto", "feddc_state", "previous_moves", "none"] = Field(
        "auto", description="gradient correction: FedDC's state, last moves, or none"
    )
    server: Literal["auto", "population", "cohort"] = Field(
        "auto", description="whose memories the server adds: the mean over all clients or over this round's"
    )
    K_mode: Literal["global", "actual"] = Field(
        "global", description="steps in the correction: E ceil(mean_n / B) for all, or the client's own count"
    )
    lr_in_cv: Literal["auto", "initial", "current"] = Field(
        "auto", description="learning rate in the correction: undecayed, or the round's own"
    )
    eps: float = Field(1e-6, gt=0, description="guards the division of gate=ratio")

    def resolved(self) -> SsgParams:
        """The same parameters with every auto replaced by the variant's choice."""
        choices = VARIANTS[self.variant]
        return self.model_copy(
            update={name: choice for name, choice in choices.items() if getattr(self, name) == "auto"}
        )


@part(
    "ssg",
    slot="drift",
    what="FedDC's memory, gated by participation counts",
    equation=r"""
        \rho_i &= \frac{c_i}{T p} + 1, \qquad g = \nabla \ell(\theta) + \alpha_i h_i + \sigma_i - s_i, \qquad
            \alpha_i = \alpha / q_i, \quad \sigma_i = s / q_i \\
        h_i^{+} &= h_i + \rho_i \Delta_i, \qquad s_i^{+} = s_i - \sigma_i - \frac{\rho_i \Delta_i}{K \eta_0} \\
        \omega^{+} &= \frac{1}{m} \sum_{i \in S} \theta_i + \frac{1}{N} \sum_{i=1}^{N} h_i^{+}, \qquad
            s^{+} = s + \frac{1}{N} \sum_{i \in S} q_i \, (s_i^{+} - s_i)
    """,
    paper="fedssg",
    year=2025,
    plugin=False,
)
class Ssg(Objective):
    Params = SsgParams
    remembers = True

    def __init__(self, params: SsgParams) -> None:
        super().__init__(params.resolved())

    def begin_round(self, r: LocalRound) -> None:
        p = self.params
        alpha = (
            float(p.alpha) / (r.scalars["q"] if p.size_scaled else 1.0) * (r.scalars["gate"] if p.gate_penalty else 1.0)
        )
        self.prox = alpha if p.penalty == "prox" else 0.0
        if p.penalty == "prox":
            self.linear = alpha * (r.remembered("h") - r.anchor)
        else:
            self.linear = (alpha if p.penalty == "inner" else 0.0) * r.remembered("h")
        if p.correction == "feddc_state":
            self.sigma = r.extra["s"] / r.scalars["q"]
            self.linear = self.linear + (self.sigma - r.remembered("s"))
        elif p.correction == "previous_moves":
            lr = r.initial_lr if p.lr_in_cv == "initial" else r.scalars["move_lr"]
            global_move = r.extra["move"] / effective_steps(int(r.scalars["steps"]), r.momentum)
            self.linear = self.linear + (r.remembered("move") - global_move) / lr

    def correction(self, r: LocalRound) -> None:
        r.flat.grad.add_(self.linear)
        if self.prox:
            r.flat.grad.add_(r.flat.theta, alpha=self.prox)

    def end_round(self, r: LocalRound) -> None:
        p = self.params
        gated = r.scalars["gate"] * r.displacement()
        r.state["h"] = r.remembered("h") + gated
        if p.server == "cohort":
            r.reply["h"] = r.state["h"]
        if p.correction == "none":
            return
        steps = effective_steps(int(r.scalars["steps"]) if p.K_mode == "global" else r.steps, r.momentum)
        if p.correction == "feddc_state":
            change = -self.sigma - gated / (steps * (r.initial_lr if p.lr_in_cv == "initial" else r.lr))
            r.reply["delta_s"] = change
            r.state["s"] = r.remembered("s") + change
        else:
            r.state["move"] = r.displacement() / steps  # a step's mean, so that K_mode=actual keeps its own count
