"""FedDF (Lin et al., NeurIPS 2020): the averaged model learns what the clients' models say together on unlabelled data.

    student omega, teachers theta_i = sent + Delta_i (eval mode),   z(x) = (1/m) sum_i z_i(x)
    steps of Adam on KL(softmax(z / tau) || softmax(z_student / tau)), mean over the batch, without tau^2

The logit average is uniform, whatever weighed the parameters. The student is in train mode, gradients are clipped to
norm 5, and the learning rate follows a cosine to 0. Deviation: the authors stop early on labelled validation data,
after at most 10 000 steps; the server has no labels here, so the number is fixed: 5 epochs, at most 1000 steps.
The data is not augmented, so that each teacher sees it once per round. A function of (seed, round) and its inputs alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fl_config.params import Params
from fl_config.parts import part
from fl_config.seeds import derive, torch_generator
from fl_data import Samples
from fl_models.flat import FlatModel
from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.server_update.base import RoundSettings, ServerStep

TEACHER_BATCH = 500


@torch.no_grad()
def mean_logits(flat: FlatModel, teachers: Iterable[Vector], data: Samples) -> Tensor:
    """(1/m) sum_i z_i(x) for all samples, [n, C]; the teachers go through one model, one after the other."""
    flat.model.eval()
    total, count = torch.zeros(()), 0
    for teacher in teachers:
        flat.load(teacher)
        slices = (slice(start, start + TEACHER_BATCH) for start in range(0, len(data), TEACHER_BATCH))
        logits = torch.cat([flat.model(data.batch(part)[0].to(flat.theta.device)) for part in slices])
        total = logits if count == 0 else total + logits
        count += 1
    return total / count


def batches(count: int, size: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """`steps` batches of positions, in a new order every epoch."""
    done = 0
    while done < steps:
        parts = torch.split(torch.randperm(count, generator=generator), size)
        if len(parts) > 1 and size > 1 and len(parts[-1]) == 1:
            parts = parts[:-1]  # BatchNorm cannot train on a single sample
        yield from parts[: steps - done]
        done += len(parts)


def distil(
    student: FlatModel,
    data: Samples,
    targets: Tensor,
    *,
    steps: int,
    generator: torch.Generator,
    lr: float = 1e-3,
    tau: float = 1.0,
    clip: float = 5.0,
    batch_size: int = 128,
) -> None:
    """Train the student in place towards the targets, logits [n, C] of the teachers."""
    device = student.theta.device
    student.model.train()
    student.theta.grad = student.grad
    adam = torch.optim.Adam([student.theta], lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=max(1, steps))
    teacher = F.log_softmax(targets / tau, dim=1)
    for positions in batches(len(data), batch_size, steps, generator):
        index = positions.to(device)
        logits = student.model(data.batch(index)[0].to(device))
        loss = F.kl_div(F.log_softmax(logits / tau, dim=1), teacher[index], log_target=True, reduction="batchmean")
        student.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if clip:
            torch.nn.utils.clip_grad_norm_([student.theta], clip)
        adam.step()
        schedule.step()


class DfParams(Params):
    steps: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        default="auto", description="Distillation steps per round; 0 is FedAvg; auto is 5 epochs, at most 1000 steps."
    )
    lr: float = Field(default=1e-3, gt=0.0, allow_inf_nan=False, description="Learning rate of Adam at the first step.")
    tau: float = Field(default=1.0, gt=0.0, allow_inf_nan=False, description="Temperature of student and teachers.")
    clip: float = Field(
        default=5.0, ge=0.0, allow_inf_nan=False, description="Largest gradient norm; 0 is no clipping."
    )
    batch_size: int = Field(default=128, ge=1, description="Unlabelled samples per step.")

    def number_of_steps(self, samples: int) -> int:
        return min(1000, 5 * math.ceil(samples / self.batch_size)) if self.steps == "auto" else self.steps


@part(
    "df",
    slot="polish",
    what="ensemble distillation on unlabelled data",
    equation=r"""
        \omega^{+} = \arg\min_{\omega} \; \frac{1}{|U|} \sum_{x \in U}
            \operatorname{KL} \Bigl( \operatorname{softmax} \frac{\bar z(x)}{\tau} \,\|\, \operatorname{softmax} \frac{z_\omega(x)}{\tau} \Bigr), \qquad
            \bar z(x) = \frac{1}{m} \sum_{i \in S} z_i(x)
    """,
    paper="feddf",
    year=2020,
)
class Df(ServerStep):
    Params = DfParams
    needs = ("classes",)
    needs_target = True
    params: DfParams

    def polish(self, omega: Vector, cohort: Cohort, server: ServerResources, settings: RoundSettings) -> Vector:
        p = self.params
        data = server.unlabelled("FedDF")
        steps = p.number_of_steps(len(data))
        if not steps or not len(cohort.updates):
            return omega
        student = server.model(omega)
        teachers = (cohort.sent + update for update in cohort.updates)
        targets = mean_logits(server.model(cohort.sent), teachers, data)
        # Dropout draws from torch's global generator; what others draw from it must neither change this nor be changed.
        with torch.random.fork_rng(devices=[server.device] if server.device.type == "cuda" else []):
            torch.manual_seed(derive(server.seed, "feddf-dropout", settings.round))
            order = torch_generator(server.seed, "feddf-order", settings.round)
            distil(student, data, targets, steps=steps, generator=order, lr=p.lr, tau=p.tau, clip=p.clip,
                   batch_size=p.batch_size)  # fmt: skip
        return student.vector()
