"""One client's samples (or a test set) on a device, and batches of them: one index, one multiply-add.

Images stay uint8 in rows of H*W*C bytes. Normalising is x * scale + shift, with scale = 1/(255 std) and
shift = -mean/std laid out for a whole row: several times as fast as broadcasting over three channels, and the batch is
channels_last without a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from fl_data.dataset import Kind, Labels


class Described(Protocol):
    """What is needed to know of a dataset to make batches of its samples."""

    @property
    def kind(self) -> Kind: ...
    @property
    def mean(self) -> tuple[float, ...] | None: ...
    @property
    def std(self) -> tuple[float, ...] | None: ...
    @property
    def flips(self) -> bool: ...


@dataclass(frozen=True)
class Plain:
    """Float features that are used as they are."""

    kind: Kind = "features"
    mean: None = None
    std: None = None
    flips: bool = False


class Samples:
    """`x` and `y` gathered once; `batch(index)` gives normalised float images, features, or int64 tokens.

    Labels are int64 where they are classes, else float32. What they are is said by `labels`, else by the data set's own
    `labels`; a description without one means classes.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray | None,
        dataset: Described = Plain(),  # noqa: B008 (frozen)
        device: str | torch.device = "cpu",
        indices: np.ndarray | None = None,
        labels: Labels | None = None,
    ) -> None:
        self.described = dataset
        asked: Labels = labels if labels is not None else getattr(dataset, "labels", "classes")
        # A copy, always: memory-mapped rows are read-only, which torch tensors cannot be.
        rows = np.array(x if indices is None else x[indices])
        kind = np.int64 if asked == "classes" else np.float32
        own = None if y is None else np.array(y if indices is None else y[indices], dtype=kind)
        if own is not None and len(own) != len(rows):
            raise ValueError(f"{len(rows)} samples were given with {len(own)} labels.")
        self.y = None if own is None else torch.from_numpy(own).to(device)
        self._image = dataset.kind == "image"
        if not self._image:
            wanted = torch.int64 if dataset.kind == "tokens" else torch.float32
            self.x = torch.from_numpy(rows).to(device=device, dtype=wanted)
            return
        if rows.dtype != np.uint8 or rows.ndim != 4 or dataset.mean is None or dataset.std is None:
            raise ValueError(f"Images must be uint8 [n, C, H, W] with mean and std, not {rows.dtype} {rows.shape}.")
        count, channels, height, width = rows.shape
        pixels = torch.from_numpy(np.ascontiguousarray(rows.transpose(0, 2, 3, 1))).to(device)
        self._rows = pixels.view(count, height * width * channels)
        self.x = pixels.permute(0, 3, 1, 2)
        self._sides = (-1, height, width, channels)
        std = torch.tensor(dataset.std, dtype=torch.float64)
        mean = torch.tensor(dataset.mean, dtype=torch.float64)
        self._scale = (1 / (255 * std)).float().repeat(height * width).to(device)
        self._shift = (-mean / std).float().repeat(height * width).to(device)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def batch(self, index: torch.Tensor | slice) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The samples and labels at these places."""
        labels = None if self.y is None else self.y[index]
        if not self._image:
            return self.x[index], labels
        # index_select is faster than indexing, but takes int64 positions only.
        plain = isinstance(index, torch.Tensor) and index.dtype == torch.int64 and index.dim() == 1
        rows = self._rows.index_select(0, index) if plain else self._rows[index]  # type: ignore[arg-type]
        normal = torch.addcmul(self._shift, rows.float(), self._scale)
        return normal.view(self._sides).permute(0, 3, 1, 2), labels
