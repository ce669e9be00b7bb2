"""Local rounds without a training loop, for the tests of the objectives."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clients.objectives.base import Batch, LocalRound
from fl_models import Outputs

LOG2, LOG3 = math.log(2), math.log(3)


def vec(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def a_round(**changes: Any) -> LocalRound:
    """omega = (1, 2), q = 2, gate 1.5, K = 4, eta_t = 0.25, eta_0 = 0.5."""
    fields: dict[str, Any] = dict.fromkeys(LocalRound.__dataclass_fields__)
    fields |= {"round": 3, "anchor": vec(1, 2), "flat": SimpleNamespace(theta=vec(1, 2), grad=vec(0, 0))}
    fields |= {"lr": 0.25, "initial_lr": 0.5, "epochs": 2, "momentum": 0.0, "state": {}, "extra": {}, "reply": {}}
    fields |= {"scalars": {"q": 2.0, "gate": 1.5, "steps": 4.0, "move_lr": 0.3}, "metrics": {}, "steps": 0}
    return LocalRound(**{**fields, **changes})


def gradient_at(objective: Any, r: LocalRound, theta: Tensor) -> Tensor:
    """The gradient that the objective adds at theta, weight decay of its own included."""
    r.flat.theta, r.flat.grad = theta, torch.zeros(2)
    objective.correction(r)
    return r.flat.grad + objective.extra_decay * theta


def finish(objective: Any, r: LocalRound, theta: Tensor, steps: int = 8) -> None:
    r.flat.theta, r.steps = theta, steps
    objective.end_round(r)


def close(given: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(given, expected, rtol=1e-6, atol=1e-6)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax(x: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    return shares


def fake_round(
    theta: list[float], anchor: list[float], frozen: dict[str, Outputs] | None = None, **given: Any
) -> LocalRound:
    """A round without a training loop; `frozen` maps 'anchor' and 'previous' to what these models put out."""
    omega = torch.tensor(anchor)
    flat = SimpleNamespace(theta=torch.tensor(theta), grad=torch.zeros(len(theta)))

    def frozen_outputs(vector: torch.Tensor, batch: Batch) -> Outputs:
        assert frozen is not None, "no teacher was needed here"
        return frozen["anchor" if torch.equal(vector, omega) else "previous"]

    label_probs = given.pop("label_probs", torch.tensor([0.5, 0.5]))
    kind: Any = LocalRound
    built: LocalRound = kind(
        round=1, flat=flat, anchor=omega, data=None, label_probs=label_probs, lr=0.1, initial_lr=0.1, epochs=1,
        momentum=0.0, frozen_outputs=frozen_outputs, **given,
    )  # fmt: skip
    return built


def outputs(features: torch.Tensor, logits: torch.Tensor | None = None) -> Outputs:
    return Outputs(features, features, features if logits is None else logits)


def batch_of(out: Outputs, labels: list[int]) -> Batch:
    return Batch(x=torch.zeros(len(labels), 1), y=torch.tensor(labels), index=torch.arange(len(labels)), outputs=out)
