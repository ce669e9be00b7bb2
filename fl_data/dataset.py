"""A labelled dataset in memory-mapped or plain arrays, and what a model needs to know about its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from fl_config.errors import ConfigError

if TYPE_CHECKING:
    from fl_data.tables.encoding import Encoding

Kind = Literal["image", "features", "tokens"]
# What is to be predicted: one class per sample, one or more numbers per sample, or any number of classes per sample.
Labels = Literal["classes", "numbers", "many"]
Normalise = Literal["auto", "none"]


class DataError(ConfigError):
    """Data that is missing, damaged or not what was announced; the message is a sentence for the user."""


@dataclass(frozen=True)
class Dataset:
    """Training and test samples; images stay uint8 until a batch is made of them."""

    name: str
    kind: Kind
    x_train: np.ndarray  # image: uint8 [n, C, H, W]; features: float32 [n, ...]; tokens: int32 [n, L], 0 is padding
    y_train: np.ndarray  # classes: int64 [n]; numbers: float32 [n] or [n, k]; many: float32 [n, num_classes] of 0 and 1
    x_test: np.ndarray
    y_test: np.ndarray
    num_classes: int  # 0 for numbers
    class_names: tuple[str, ...]  # for numbers, what each of them is called
    mean: tuple[float, ...] | None  # per channel in units of 0..1, images only
    std: tuple[float, ...] | None
    flips: bool  # whether a mirrored image keeps its label
    vocabulary: int = 0  # tokens only: number of ids, with 0 for padding and 1 for an unknown word
    words: tuple[str, ...] = ()  # tokens only: the words from number 2 on, where they are known
    labels: Labels = "classes"
    columns: Mapping[str, np.ndarray] = field(
        default_factory=dict
    )  # of the training rows, not features: the clients' names
    encoding: Encoding | None = None  # tables only: how a row becomes features, for new rows to be treated alike

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(int(side) for side in self.x_train.shape[1:])

    @property
    def outputs(self) -> int:
        """How many numbers a model has to give for one sample."""
        if self.labels == "numbers":
            return 1 if self.y_train.ndim == 1 else int(self.y_train.shape[1])
        return self.num_classes


@dataclass
class Decoded:
    """What a format's reader returns, before it is checked and stored."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    vocabulary: int = 0
    words: tuple[str, ...] = ()  # from number 2 on
    writers: list[list[int]] | None = None  # LEAF only: the training rows of each writer

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "x_train": self.x_train,
            "y_train": self.y_train,
            "x_test": self.x_test,
            "y_test": self.y_test,
        }


def channel_statistics(images: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation per channel in units of 0..1, exact, from the 256 counts of each channel."""
    levels = np.arange(256) / 255.0
    means, deviations = [], []
    for channel in range(images.shape[1]):
        counts = np.zeros(256, dtype=np.int64)
        # In slices: bincount widens its input to eight bytes per pixel.
        for start in range(0, len(images), 4096):
            counts += np.bincount(images[start : start + 4096, channel].reshape(-1), minlength=256)
        total = max(1, int(counts.sum()))
        mean = float(counts @ levels) / total
        variance = float(counts @ (levels - mean) ** 2) / total
        means.append(mean)
        # A constant channel carries nothing; dividing by 1 keeps it finite.
        deviations.append(variance**0.5 if variance > 1e-12 else 1.0)
    return tuple(means), tuple(deviations)
