"""One client's samples (or a test set) on a device, and batches of them: one index, one multiply-add.

Images stay uint8 in rows of H*W*C bytes. Normalising is x * scale + shift, with scale = 1/(255 std) and
shift = -mean/std laid out for a whole row: several times as fast as broadcasting over three channels, and the batch is
channels_last without a copy.
"""

from __future__ import annotations

import functools
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


def _own_rows(values: np.ndarray, indices: np.ndarray | None) -> np.ndarray:
    """A copy of the rows, always: memory-mapped ones are read-only, which torch tensors cannot be."""
    plain = np.asarray(values)  # indexing a memory map itself is slower
    return plain.copy() if indices is None else plain[np.asarray(indices)]


@functools.lru_cache(maxsize=16)
def _normal_row(
    mean: tuple[float, ...], std: tuple[float, ...], pixels: int, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale and shift of a whole row; the same for every client of a data set."""
    deviation, middle = torch.tensor(std, dtype=torch.float64), torch.tensor(mean, dtype=torch.float64)
    scale = (1 / (255 * deviation)).float().repeat(pixels).to(device)
    return scale, (-middle / deviation).float().repeat(pixels).to(device)


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
        rows = _own_rows(x, indices)
        kind = np.int64 if asked == "classes" else np.float32
        own = None if y is None else _own_rows(y, indices).astype(kind, copy=False)
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
        self._scale, self._shift = _normal_row(dataset.mean, dataset.std, height * width, str(device))

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def nbytes(self) -> int:
        return int(self.x.nbytes)

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
