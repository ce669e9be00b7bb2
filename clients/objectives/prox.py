"""FedProx (Li et al., MLSys 2020): a client must not go far from the model it received.

    L = CE + (mu / 2) ||theta - omega||^2,   so that mu (theta - omega) is added to the gradient, inside the clip.

mu = 0 is FedAvg. The factor 1/2 is the paper's; FedSSG's code lacks it, so a mu from there is doubled here.
"""

from __future__ import annotations

import torch
from pydantic import Field

from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


class ProxParams(Params):
    mu: float = Field(
        default=0.01,
        ge=0.0,
        allow_inf_nan=False,
        description="Strength of the pull to the received model; 0 is FedAvg.",
    )


@part(
    "prox",
    slot="objective",
    what="+ mu/2 |theta - omega|^2",
    equation=r"L = \ell(\theta) + \frac{\mu}{2} \, \lVert \theta - \omega \rVert^2",
    paper="fedprox",
    year=2020,
)
class Prox(Objective):
    Params = ProxParams
    every_pass = True
    params: ProxParams

    @torch.no_grad()
    def correction(self, r: LocalRound) -> None:
        if self.params.mu:
            # The difference first: at theta = omega the term is exactly 0.
            r.flat.grad.add_(r.flat.theta - r.anchor, alpha=self.params.mu)
