"""FedDC, the client's half: a drift variable decoupled from the model, and a gradient state in the manner of SCAFFOLD.

Gao et al., "FedDC: Federated Learning with Non-IID Data via Local Drift Decoupling and Correction", CVPR 2022. With
q_i = N n_i / n, alpha_i = alpha / q_i, sigma_i = s / q_i and K = E ceil(mean_n / B), the same for all clients (K = E
for the full batch):

    gradient   grad l(theta) + alpha_i (theta - (omega - h_i)) + sigma_i - s_i
    after      h_i <- h_i + Delta_i;   s_i+ = s_i - sigma_i - Delta_i / (K eta_0),   sent up: s_i+ - s_i

The form of the authors' code, whose rate in the divisor is the undecayed one (`lr_in_cv`). With client momentum K
becomes `effective_steps(K)`, without which s_i would overestimate the gradient by up to 1 / (1 - momentum); the authors
use no momentum.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clients.effective_steps import effective_steps
from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


class DcParams(Params):
    alpha: float = Field(
        0.01,
        ge=0,
        description="strength of the penalty, divided by the client's relative size; 0.1 for MNIST-like data",
    )
    lr_in_cv: Literal["initial", "current"] = Field(
        "initial", description="learning rate in the gradient state: undecayed or this round's"
    )


@part(
    "dc",
    slot="drift",
    what="local drift h_i and gradient state s_i",
    equation=r"""
        g &= \nabla \ell(\theta) + \alpha_i \, \bigl( \theta - (\omega - h_i) \bigr) + \sigma_i - s_i, \qquad
            \alpha_i = \alpha / q_i, \quad \sigma_i = s / q_i \\
        h_i^{+} &= h_i + \Delta_i, \qquad s_i^{+} = s_i - \sigma_i - \frac{\Delta_i}{K \eta_0} \\
        \omega^{+} &= \frac{1}{m} \sum_{i \in S} \theta_i + \frac{1}{N} \sum_{i=1}^{N} h_i^{+}, \qquad
            s^{+} = s + \frac{1}{N} \sum_{i \in S} q_i \, (s_i^{+} - s_i)
    """,
    paper="feddc",
    year=2022,
    plugin=False,
)
class Dc(Objective):
    Params = DcParams
    remembers = True

    def begin_round(self, r: LocalRound) -> None:
        self.alpha = float(self.params.alpha) / r.scalars["q"]
        self.sigma = r.extra["s"] / r.scalars["q"]
        self.linear = self.alpha * (r.remembered("h") - r.anchor) + (self.sigma - r.remembered("s"))

    def correction(self, r: LocalRound) -> None:
        r.flat.grad.add_(self.linear).add_(r.flat.theta, alpha=self.alpha)

    def end_round(self, r: LocalRound) -> None:
        lr = r.initial_lr if self.params.lr_in_cv == "initial" else r.lr
        change = -self.sigma - r.displacement() / (effective_steps(int(r.scalars["steps"]), r.momentum) * lr)
        r.reply["delta_s"] = change
        r.state["s"] = r.remembered("s") + change
        r.state["h"] = r.remembered("h") + r.displacement()
