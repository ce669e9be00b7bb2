"""Multilabel: any number of k labels may hold for a sample, each predicted by itself with binary cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_tasks.base import Task, numbers


class Multilabel(Task):
    """A label is a row of k zeros and ones, and a model has k logits: the mean of their k binary cross-entropies is its loss.

    A label is predicted to hold where its logit is above 0.
    """

    name = "multilabel"
    family = "multilabel"
    metrics = ("macro-f1", "micro-f1", "auroc", "subset-accuracy")
    headline = "macro-f1"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        if reduction == "mean":
            return F.binary_cross_entropy_with_logits(outputs, y)
        rows = F.binary_cross_entropy_with_logits(outputs, y, reduction="none").mean(dim=1)
        return rows.sum() if reduction == "sum" else rows

    def labels(self, y: NDArray[Any], where: str = "the data") -> NDArray[Any]:
        given = numbers(y, self.name, where)
        if given.ndim != 2 or not given.shape[1]:
            raise ConfigError(
                f"The task {self.name} needs a row of zeros and ones per sample, but the labels of {where} have the shape "
                f"{given.shape}: is it --task classification?"
            )
        odd = given[(given != 0) & (given != 1)]
        if odd.size:
            raise ConfigError(f"The task {self.name} needs zeros and ones as labels, but {where} has {odd[0]}.")
        return given.astype(np.float32)

    def found(self, y: NDArray[Any]) -> str:
        rate = f", of which {y.sum(axis=1).mean():.2f} hold on average," if len(y) else ""
        return f"{y.shape[1]} labels{rate} on {len(y)} samples"
