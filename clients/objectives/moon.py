"""MOON (Li, He & Song, CVPR 2021): a client's projection stays near the global model's and away from its own last one.

    L = CE + mu mean_x -log[ e^{cos(z, z_g)/tau} / (e^{cos(z, z_g)/tau} + e^{cos(z, z_p)/tau}) ]

z of the trained model, z_g of the received one, z_p of the client's previous one; these two in eval mode, no gradient.
With one previous model the term is softplus((cos(z, z_p) - cos(z, z_g)) / tau), which cannot overflow.
Deviation: a client that has no previous model has no such term. The authors' code does so in round 1, but later
takes a random network for a client that was never drawn. The previous model is the last one that the server used.
"""

from __future__ import annotations

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from clients.objectives.base import Batch, LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


def moon_loss(z: Tensor, z_global: Tensor, z_previous: Tensor | None, tau: float = 0.5) -> Tensor:
    """The contrastive term for projections [B, d], without mu; 0 where there is no previous model."""
    if z_previous is None:
        return z.sum() * 0.0
    near = F.cosine_similarity(z, z_global.detach(), dim=1)
    away = F.cosine_similarity(z, z_previous.detach(), dim=1)
    return F.softplus((away - near) / tau).mean()


class MoonParams(Params):
    mu: float = Field(
        default=1.0, ge=0.0, allow_inf_nan=False, description="Weight of the contrastive term; 0 is FedAvg."
    )
    tau: float = Field(default=0.5, gt=0.0, allow_inf_nan=False, description="Temperature of the cosines.")


@part(
    "moon",
    slot="objective",
    what="+ mu contrast(z; z_global, z_previous)",
    equation=r"""
        L = \ell(\theta) - \mu \, \frac{1}{B} \sum_x
            \log \frac{e^{\cos(z, z_g) / \tau}}{e^{\cos(z, z_g) / \tau} + e^{\cos(z, z_p) / \tau}}
    """,
    paper="moon",
    year=2021,
)
class Moon(Objective):
    Params = MoonParams
    needs = ("head",)
    remembers = True
    projection = 256
    params: MoonParams

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        previous = r.state.get("previous")
        if previous is None or not self.params.mu:
            return None
        z_global = r.frozen_outputs(r.anchor, batch).z
        z_previous = r.frozen_outputs(previous, batch).z
        return self.params.mu * moon_loss(batch.outputs.z, z_global, z_previous, self.params.tau)

    def end_round(self, r: LocalRound) -> None:
        r.state["previous"] = r.flat.theta.detach().clone()
