"""What an objective is: hooks on the one training loop of `clients.training`, which calls them in this order.

    begin_round(r)                  once, with theta = omega
    for every minibatch:
        loss(r, batch)              a term added to the cross-entropy (feature and logit regularisers)
        correction(r)               adds its gradient to r.flat.grad, after backward and before the clip
    end_round(r)                    once, with theta = theta_i: new state, reply arrays, reply metrics

All vectors (theta, grad, anchor, state, extra) are flat, in the layout of `r.flat`; the loop converts at its borders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from fl_config.params import Params
from fl_data import Samples
from fl_models import Outputs
from fl_models.flat import FlatModel
from fl_tasks import Classification, Task


@dataclass
class Batch:
    """One minibatch after the forward pass; `index` are positions in the client's samples."""

    x: Tensor
    y: Tensor
    index: Tensor
    outputs: Outputs


@dataclass
class LocalRound:
    """One client's round as its objectives see it."""

    round: int
    flat: FlatModel
    anchor: Tensor  # omega, the received parameters
    data: Samples
    label_probs: (
        Tensor  # the client's label frequencies, zero for classes it never saw; empty where there are no classes
    )
    lr: float  # eta_t
    initial_lr: float  # eta_0, before any decay
    epochs: int
    momentum: float
    frozen_outputs: Callable[
        [Tensor, Batch], Outputs
    ]  # (parameters, batch) -> outputs of that model in eval mode, no grad
    extra: dict[str, Tensor] = field(default_factory=dict)  # the server's arrays for the method
    scalars: dict[str, float] = field(default_factory=dict)  # the server's numbers for this client
    state: dict[str, Tensor] = field(
        default_factory=dict
    )  # remembered from the last round that counted; replaced in end_round
    reply: dict[str, Tensor] = field(default_factory=dict)  # extra vectors to send up
    metrics: dict[str, float] = field(default_factory=dict)  # numbers to send up
    steps: int = 0  # K_i, counted by the loop
    task: Task = field(default_factory=Classification)  # what is learned: the loss of a batch is its own
    phase: str = ""  # names a further pass of the same round, which then draws batches of its own

    def remembered(self, name: str) -> Tensor:
        """A state vector, zero if the client never took part."""
        if name not in self.state:
            self.state[name] = torch.zeros_like(self.anchor)
        return self.state[name]

    def displacement(self) -> Tensor:
        """Delta_i = theta_i - omega."""
        return self.flat.theta - self.anchor


class Objective:
    """Base of every objective; a subclass overrides the hooks it needs and declares its `Params`."""

    kind: ClassVar[str] = "objective"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")
    projection: ClassVar[int] = 0  # width of the projection head that the model must have; 0 is none
    remembers: ClassVar[bool] = False  # the client keeps a model or a correction of its own between rounds
    # True: the correction is an explicit regulariser that SAM evaluates in both passes; False: added once, after them.
    every_pass: ClassVar[bool] = False
    # Added to the weight decay for this round, i.e. not clipped (FedDyn's prox_in_wd).
    extra_decay: float = 0.0

    def __init__(self, params: Any) -> None:
        self.params = params

    def begin_round(self, r: LocalRound) -> None:
        """Prepare what stays constant during the round."""

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        return None

    def correction(self, r: LocalRound) -> None:
        """Add to r.flat.grad in place."""

    def end_round(self, r: LocalRound) -> None:
        """Update r.state, r.reply, r.metrics."""
