"""FedDyn, the client's half: a linear and a quadratic term whose stationary point is that of the global loss.

Acar et al., "Federated Learning Based on Dynamic Regularization", ICLR 2021. With q_i = N n_i / n and
alpha_i = alpha / q_i:

    gradient   grad l(theta) + alpha_i (theta - omega + h_i)
    after      h_i <- h_i + Delta_i            (h_i = -grad L_i / alpha in the paper's notation)

The authors' code hides alpha_i theta in the optimiser's weight decay, where the clip does not reach it; `prox_in_wd`
keeps that and is mathematically the same as long as the clip is inactive. alpha 0 regresses to FedAvg on the client.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


class DynParams(Params):
    alpha: float = Field(
        0.01, ge=0, description="strength of the dynamic regulariser, divided by the client's relative size"
    )
    prox_in_wd: bool = Field(
        True, description="put alpha_i theta into the weight decay, outside the clip, as the authors' code does"
    )


@part(
    "dyn",
    slot="drift",
    what="alpha_i (theta - omega + h_i), h_i += Delta_i",
    equation=r"""
        g &= \nabla \ell(\theta) + \alpha_i \, (\theta - \omega + h_i), \qquad \alpha_i = \alpha / q_i, \quad q_i = N n_i / n \\
        h_i^{+} &= h_i + \Delta_i \\
        \omega^{+} &= \frac{1}{m} \sum_{i \in S} \theta_i + \frac{1}{N} \sum_{i=1}^{N} h_i^{+}
    """,
    paper="feddyn",
    year=2021,
    plugin=False,
)
class Dyn(Objective):
    Params: ClassVar[type[Params]] = DynParams
    remembers = True

    def strength(self, r: LocalRound) -> float:
        return float(self.params.alpha) / r.scalars["q"]

    def begin_round(self, r: LocalRound) -> None:
        self.alpha = self.strength(r)
        self.linear = self.alpha * (r.remembered("h") - r.anchor)
        self.extra_decay = self.alpha if self.params.prox_in_wd else 0.0

    def correction(self, r: LocalRound) -> None:
        r.flat.grad.add_(self.linear)
        if not self.params.prox_in_wd:
            r.flat.grad.add_(r.flat.theta, alpha=self.alpha)

    def end_round(self, r: LocalRound) -> None:
        r.state["h"] = r.remembered("h") + r.displacement()
