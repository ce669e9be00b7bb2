"""Regression: one number or several per sample, learned as they are given, by the mean squared error.

The target is not standardised: the loss, RMSE and MAE are in the target's own units, and a client learns nothing of the
other clients' targets. Where a target is far from zero or wide, scale it in the data (or use a smaller --lr).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_tasks.base import Task, numbers


class Regression(Task):
    """A label is a number, or a row of k numbers; a model has k outputs: the mean over the k of (output - y)^2 is its loss."""

    name = "regression"
    family = "regression"
    metrics = ("rmse", "mae", "r2")
    headline = "rmse"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        # Outputs [n, 1] beside labels [n] would be broadcast to [n, n] without a word.
        outputs = outputs.reshape(y.shape)
        if y.dim() == 1 or reduction == "mean":
            return F.mse_loss(outputs, y, reduction=reduction)
        rows = F.mse_loss(outputs, y, reduction="none").mean(dim=1)
        return rows.sum() if reduction == "sum" else rows

    def labels(self, y: NDArray[Any], where: str = "the data") -> NDArray[Any]:
        given = numbers(y, self.name, where)
        if given.ndim not in (1, 2) or 0 in given.shape[1:]:
            raise ConfigError(
                f"The task {self.name} needs one number per sample or a row of them, but those of {where} have the shape "
                f"{given.shape}."
            )
        return given.astype(np.float32)

    def found(self, y: NDArray[Any]) -> str:
        targets = "a number" if y.ndim == 1 else f"{y.shape[1]} numbers"
        return f"{targets} per sample, {y.min():.4g} to {y.max():.4g}, on {len(y)} samples" if y.size else "no samples"
