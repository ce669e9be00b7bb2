"""What a task is: the loss, what labels are, which metrics are recorded, and what methods may rely on.

A task is a small object without state. One of your own is a subclass of a task that is near to it, or of `Task` itself:

    class Huber(Regression):
        name = "huber"

        def loss(self, outputs, y, reduction="mean"):
            return F.huber_loss(outputs.reshape(y.shape), y, reduction=reduction)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_data.dataset import Labels

LABELS: dict[str, Labels] = {"classification": "classes", "regression": "numbers", "multilabel": "many"}  # by family
CLASSES = "classes"  # offered where a label is one of a known number of classes, which methods count, balance or distil


class Task:
    """What is learned. The loss of a sample is one number; a batch's is their mean, or their sum with reduction="sum".

    `name` is what the run folder calls the task. `family` says whose metrics fit, and is inherited. `metrics` are recorded
    unless others are asked for; `headline` is the one that tables, the best round and early stopping go by. `offers` is what
    a method may require, such as CLASSES. `label_type` is the type of the labels in memory.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    metrics: ClassVar[tuple[str, ...]] = ()
    headline: ClassVar[str] = "loss"
    offers: ClassVar[frozenset[str]] = frozenset()
    label_type: ClassVar[type[np.generic]] = np.float32

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        raise NotImplementedError(f"The task {type(self).__name__} has no loss: define loss(outputs, y, reduction).")

    def labels(self, y: NDArray[Any], where: str = "the data") -> NDArray[Any]:
        """The labels in the type and shape of the task; a sentence where they cannot be its labels."""
        return np.asarray(y, dtype=self.label_type)

    def num_outputs(self, y: NDArray[Any], num_classes: int = 0) -> int:
        """How many outputs a model needs for these labels: one per column."""
        return 1 if y.ndim == 1 else int(y.shape[1])

    def check_dataset(self, y: NDArray[Any]) -> None:
        """Raise ConfigError where the labels of a whole training set look as if they were meant for another task."""

    def found(self, y: NDArray[Any]) -> str:
        """What the labels of a whole training set are, in words for the log."""
        columns = "" if y.ndim == 1 else f" of {y.shape[1]} values"
        return f"{len(y)} labels{columns}"


def numbers(y: NDArray[Any], task: str, where: str) -> NDArray[Any]:
    """Labels as an array of finite numbers, which all tasks of the project need."""
    given = np.asarray(y)
    if given.dtype.kind not in "biuf":
        raise ConfigError(f"The task {task} needs numbers as labels, but those of {where} are {given.dtype}.")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        lost = int((~np.isfinite(given)).sum())
        raise ConfigError(
            f"The task {task} needs finite labels, but {lost} of those of {where} are missing or infinite."
        )
    return given
