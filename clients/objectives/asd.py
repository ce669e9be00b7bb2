"""ASD, adaptive self-distillation (Yashwanth et al.): stay near the received model where it is sure and labels rare.

    L = base + lam sum_{i in batch} alpha_i KL(q_g(x_i) || q(x_i)),   q = softmax(logits / tau)
    alpha_i = a_i / sum_batch a,   a_i = exp(-b1 H(x_i)) / p_{y_i}^b2

H is the entropy of the received model's prediction, p the client's label frequencies; the weights carry no gradient.
Where the sources disagree:
- The batch is summed, as in Eq. 18 and the authors' code. Eq. 5 divides by B once more, and its lam is "in units of B".
- H is taken at temperature `entropy_temp` = 1, as in the authors' main runs. Eq. 11 means tau: entropy_temp = tau.
- There is no factor tau^2.
`uniform` is the paper's ablation, alpha_i = 1/B; `ntd` distils only the classes that are not true (Eq. 18).
The normalised product is a softmax over the batch of -b1 H - b2 log p, which neither overflows nor divides.
A label of frequency 0, impossible on the client's own training data, counts as the rarest known one.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from clients.objectives.base import Batch, LocalRound, Objective
from clients.objectives.ntd import not_true
from fl_config.params import Params
from fl_config.parts import part

Divergence = Literal["kl", "reverse_kl", "js"]


def asd_loss(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Tensor,
    label_probs: Tensor,
    tau: float = 2.0,
    entropy_temp: float = 1.0,
    *,
    b1: float = 1.0,
    b2: float = 1.0,
    uniform: bool = False,
    divergence: Divergence = "kl",
    ntd: bool = False,
) -> Tensor:
    """sum_i alpha_i KL_i for logits [B, C], labels [B], label frequencies [C] (zero for classes never seen)."""
    teacher_logits = teacher_logits.detach()
    student, teacher = student_logits, teacher_logits
    if ntd:
        student, teacher = not_true(student, labels), not_true(teacher, labels)
    distances = divergences(F.log_softmax(student / tau, dim=1), F.log_softmax(teacher / tau, dim=1), divergence)
    if uniform:
        return distances.mean()
    return (asd_weights(teacher_logits, labels, label_probs, entropy_temp, b1, b2) * distances).sum()


@torch.no_grad()
def asd_weights(
    teacher_logits: Tensor,
    labels: Tensor,
    label_probs: Tensor,
    entropy_temp: float = 1.0,
    b1: float = 1.0,
    b2: float = 1.0,
) -> Tensor:
    """alpha over the batch, sum 1: proportional to exp(-b1 H(x_i)) / p_{y_i}^b2."""
    log_q = F.log_softmax(teacher_logits / entropy_temp, dim=1)
    entropy = -(log_q.exp() * log_q).sum(dim=1)
    rarest = label_probs.masked_fill(label_probs <= 0, math.inf).min()
    # Without any known label every class is equally rare, and the infinity must not reach the softmax.
    known = torch.where(label_probs > 0, label_probs, rarest.clamp(max=1.0))
    return F.softmax(-b1 * entropy - b2 * known.log().to(entropy.dtype)[labels], dim=0)


def divergences(student: Tensor, teacher: Tensor, divergence: Divergence = "kl") -> Tensor:
    """One number per row, from log-probabilities [B, C]: KL(teacher || student), its reverse, or Jensen-Shannon."""
    if divergence == "kl":
        return (teacher.exp() * (teacher - student)).sum(dim=1)
    if divergence == "reverse_kl":
        return (student.exp() * (student - teacher)).sum(dim=1)
    if divergence == "js":
        middle = torch.logaddexp(student, teacher) - math.log(2.0)
        return 0.5 * (divergences(middle, teacher) + divergences(middle, student))
    raise ValueError(f"The divergence must be 'kl', 'reverse_kl' or 'js', but {divergence!r} was given.")


def default_lam(classes: int) -> float:
    """The paper's: 10 up to 10 classes (CIFAR-10), 30 at 100 (CIFAR-100), 20 (Tiny-ImageNet) for any other number."""
    if classes <= 10:
        return 10.0
    return 30.0 if classes == 100 else 20.0


class AsdParams(Params):
    lam: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | Literal["auto"] = Field(
        default="auto",
        description="Weight of the distillation; 0 is none; auto is 10 up to 10 classes, 30 at 100, otherwise 20.",
    )
    tau: float = Field(
        default=2.0, gt=0.0, allow_inf_nan=False, description="Temperature of both models in the divergence."
    )
    entropy_temp: float = Field(
        default=1.0, gt=0.0, allow_inf_nan=False, description="Temperature of the received model in the entropy."
    )
    b1: float = Field(
        default=1.0, ge=0.0, allow_inf_nan=False, description="Exponent of exp(-H); 0 ignores the entropy."
    )
    b2: float = Field(
        default=1.0, ge=0.0, allow_inf_nan=False, description="Exponent of 1/p; 0 ignores the label frequencies."
    )
    uniform: bool = Field(default=False, description="Weigh every sample equally (the paper's ablation).")
    divergence: Divergence = Field(default="kl", description="Divergence of student and teacher: kl, reverse_kl or js.")
    ntd: bool = Field(default=False, description="Distil only the classes that are not true (FedNTD + ASD).")


@part(
    "asd",
    slot="objective",
    what="+ lambda sum_i alpha_i KL(teacher_i | student_i)",
    equation=r"""
        L &= \ell(\theta) + \lambda \sum_{i \in \text{batch}} \alpha_i \operatorname{KL} \bigl( q_\omega(x_i) \,\|\, q_\theta(x_i) \bigr), \qquad
            q = \operatorname{softmax}(z / \tau) \\
        \alpha_i &= \frac{a_i}{\sum_{j \in \text{batch}} a_j}, \qquad a_i = \frac{e^{-b_1 H(x_i)}}{p_{y_i}^{\,b_2}}
    """,
    paper="asd",
    year=2023,
)
class Asd(Objective):
    Params = AsdParams
    needs = ("classes",)
    params: AsdParams

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        p = self.params
        lam = default_lam(r.label_probs.numel()) if p.lam == "auto" else p.lam
        if not lam:
            return None
        teacher_logits = r.frozen_outputs(r.anchor, batch).logits
        return lam * asd_loss(
            batch.outputs.logits, teacher_logits, batch.y, r.label_probs, p.tau, p.entropy_temp,
            b1=p.b1, b2=p.b2, uniform=p.uniform, divergence=p.divergence, ntd=p.ntd,
        )  # fmt: skip
