"""FedNTD (Lee et al., NeurIPS 2022): distil from the received model what it knows about the classes that are not true.

    L = CE + beta tau^2 mean_x KL(q_g || q),   q = softmax of the C - 1 logits without the true class, over tau

The teacher is the received model, frozen for the round. beta = 0 is FedAvg; with two classes one logit is left, so the
term is 0. Defaults are those of the authors' shipped configuration (beta 1, tau 1). ASD's variant of it, without tau^2,
is `asd.ntd`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from clients.objectives.base import Batch, LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


def not_true(logits: Tensor, labels: Tensor) -> Tensor:
    """[B, C] -> [B, C - 1]: every row without its label's column, the order kept."""
    columns = torch.arange(logits.shape[1] - 1, device=logits.device)
    return logits.gather(1, columns + (columns >= labels.unsqueeze(1)).long())


def ntd_loss(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor, tau: float = 1.0) -> Tensor:
    """tau^2 mean_x KL(teacher || student) over the classes that are not true; logits [B, C], labels [B]."""
    teacher = F.log_softmax(not_true(teacher_logits.detach(), labels) / tau, dim=1)
    student = F.log_softmax(not_true(student_logits, labels) / tau, dim=1)
    return tau**2 * (teacher.exp() * (teacher - student)).sum(dim=1).mean()


class NtdParams(Params):
    beta: float = Field(
        default=1.0, ge=0.0, allow_inf_nan=False, description="Weight of the distillation; 0 is FedAvg."
    )
    tau: float = Field(default=1.0, gt=0.0, allow_inf_nan=False, description="Temperature of both models.")


@part(
    "ntd",
    slot="objective",
    what="+ beta tau^2 KL over the not-true classes",
    equation=r"L = \ell(\theta) + \beta \, \tau^2 \, \frac{1}{B} \sum_x \operatorname{KL}(\tilde q_\omega \,\|\, \tilde q_\theta), \qquad \tilde q = \operatorname{softmax} \frac{z_{c \ne y}}{\tau}",
    paper="fedntd",
    year=2022,
)
class Ntd(Objective):
    Params = NtdParams
    needs = ("classes",)
    params: NtdParams

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        if not self.params.beta:
            return None
        teacher_logits = r.frozen_outputs(r.anchor, batch).logits
        return self.params.beta * ntd_loss(batch.outputs.logits, teacher_logits, batch.y, self.params.tau)
