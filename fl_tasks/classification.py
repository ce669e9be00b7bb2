"""Classification: cross-entropy on class logits, and how well a model does on a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_data import Samples
from fl_models import Model
from fl_tasks.base import CLASSES, Task, numbers

EVALUATION_BATCH = 500
FEW = 10  # classes that even the smallest data set may have


class Classification(Task):
    """A label is the number of one class, 0 to C - 1, and a model has C outputs: -log softmax(outputs)[y] is its loss."""

    name = "classification"
    family = "classification"
    metrics = ("accuracy", "class-accuracy")
    headline = "accuracy"
    offers = frozenset({CLASSES})
    label_type = np.int64

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        return F.cross_entropy(outputs, y, reduction=reduction)

    def labels(self, y: NDArray[Any], where: str = "the data") -> NDArray[Any]:
        given = numbers(y, self.name, where)
        if given.ndim != 1:
            raise ConfigError(
                f"The task {self.name} needs one label per sample, but those of {where} have the shape {given.shape}: is it "
                "--task multilabel?"
            )
        whole = given.astype(np.int64)
        if (whole != given).any():
            raise ConfigError(
                f"The task {self.name} needs whole numbers as labels, but {where} has {given[whole != given][0]}: is it "
                "--task regression?"
            )
        if len(whole) and whole.min() < 0:
            raise ConfigError(f"The task {self.name} counts classes from 0, but {where} has the label {whole.min()}.")
        return whole

    def num_outputs(self, y: NDArray[Any], num_classes: int = 0) -> int:
        return num_classes or int(y.max(initial=0)) + 1

    def check_dataset(self, y: NDArray[Any]) -> None:
        classes = len(np.unique(y))
        if classes > FEW and classes * 10 > len(y):
            raise ConfigError(
                f"The labels have {classes} different values on {len(y)} samples, which are too many to be classes: for a "
                "number that is to be predicted use --task regression."
            )

    def found(self, y: NDArray[Any]) -> str:
        return f"{len(np.unique(y))} classes on {len(y)} samples"


@dataclass(frozen=True)
class Score:
    """How a model does on a set: mean loss, accuracy, and accuracy per class (None for a class without samples)."""

    loss: float
    accuracy: float
    class_accuracy: list[float | None]
    count: int


@torch.no_grad()
def evaluate(model: Model, data: Samples, num_classes: int = 0) -> Score:
    """One pass over the set in eval mode; without `num_classes` there are as many classes as the model has outputs."""
    was_training = model.training
    model.eval()
    loss = 0.0
    right, seen = torch.zeros(num_classes), torch.zeros(num_classes)
    try:
        for start in range(0, len(data), EVALUATION_BATCH):
            x, y = data.batch(slice(start, start + EVALUATION_BATCH))
            assert y is not None
            logits = model(x)
            loss += float(F.cross_entropy(logits, y, reduction="sum"))
            classes = num_classes or logits.shape[1]
            seen = _added(seen, torch.bincount(y, minlength=classes))
            right = _added(right, torch.bincount(y[logits.argmax(1) == y], minlength=classes))
    finally:
        model.train(was_training)
    by_class = [float(r / s) if s else None for r, s in zip(right, seen, strict=True)]
    return Score(loss / max(1, len(data)), float(right.sum()) / max(1, len(data)), by_class, len(data))


def _added(total: Tensor, counts: Tensor) -> Tensor:
    return total + counts.cpu() if len(total) else counts.cpu().float()
