"""Logits whose best weights are known, and the settings to learn them with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def random_views(clients: int = 4, samples: int = 12, classes: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    common = torch.randn(clients, samples, classes, generator=generator, dtype=torch.float64) * 2
    first, second = (common + torch.randn(common.shape, generator=generator, dtype=torch.float64) for _ in range(2))
    return first, second


def skewed_views(clients: int = 5, samples: int = 200, good: int = 2, seed: int = 1) -> tuple[Tensor, Tensor]:
    """One client is sure of one class in both views; the others' logits are noise that changes with the view."""
    generator = torch.Generator().manual_seed(seed)
    views = [torch.randn(clients, samples, 10, generator=generator) for _ in range(2)]
    answers = torch.nn.functional.one_hot(torch.arange(samples) % 10, 10) * 8.0
    for view in views:
        view[good] = answers
    return views[0], views[1]


LEARN: dict[str, Any] = {"lambda_var": 1.0, "lambda_we": 1e-3, "lr": 0.1, "epochs": 10, "batch_size": 128, "seed": 3}
