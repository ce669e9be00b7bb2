"""One client's samples (or a test set) on a device, and batches of them: one index, one multiply-add.

Images stay uint8 in rows of H*W*C bytes. Normalising is x * scale + shift, with scale = 1/(255 std) and
shift = -mean/std laid out for a whole row: several times as fast as broadcasting over three channels, and the batch is
channels_last without a copy.

Several processes share a GPU, and each has samples of its own there, so they may take a small share of its memory only:
the whole training set where it fits into that share, and clients are places in it; else the samples of the last clients, as many
as fit; those of a client that does not fit alone stay in the host's memory and go over batch by batch. The numbers are the same.
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch

from fl_config import device as hardware
from fl_data.dataset import Kind, Labels

Residence = Literal["whole", "own", "host"]
SHARED = 0.02  # of a GPU's memory, for one of several processes: images of 32 x 32 in colour, 50,000 of them, are 2 % of 8 GB
ALONE = 0.25  # for a process that has the GPU to itself
BYTES = {"image": 1, "tokens": 8}  # of a value on the device; 4 for features


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


class Sized(Protocol):
    """What is needed to know of a data set to tell how much memory it takes."""

    @property
    def kind(self) -> Kind: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


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
    `labels`; a description without one means classes. Batches are made on `device`; the samples lie at `home`, which is the device
    unless it has no room for them.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray | None,
        dataset: Described = Plain(),  # noqa: B008 (frozen)
        device: str | torch.device = "cpu",
        indices: np.ndarray | None = None,
        labels: Labels | None = None,
        home: torch.device | None = None,
    ) -> None:
        self.described, self.device = dataset, torch.device(device)
        self._places: torch.Tensor | None = None
        home = self.device if home is None else home
        asked: Labels = labels if labels is not None else getattr(dataset, "labels", "classes")
        rows = _own_rows(x, indices)
        kind = np.int64 if asked == "classes" else np.float32
        own = None if y is None else _own_rows(y, indices).astype(kind, copy=False)
        if own is not None and len(own) != len(rows):
            raise ValueError(f"{len(rows)} samples were given with {len(own)} labels.")
        self.y = None if own is None else torch.from_numpy(own).to(self.device)
        self._image = dataset.kind == "image"
        if not self._image:
            wanted = torch.int64 if dataset.kind == "tokens" else torch.float32
            self._x = torch.from_numpy(rows).to(device=home, dtype=wanted)
            return
        if rows.dtype != np.uint8 or rows.ndim != 4 or dataset.mean is None or dataset.std is None:
            raise ValueError(f"Images must be uint8 [n, C, H, W] with mean and std, not {rows.dtype} {rows.shape}.")
        count, channels, height, width = rows.shape
        pixels = torch.from_numpy(np.ascontiguousarray(rows.transpose(0, 2, 3, 1))).to(home)
        self._rows = pixels.view(count, height * width * channels)
        self._x = pixels.permute(0, 3, 1, 2)
        self._sides = (-1, height, width, channels)
        self._scale, self._shift = _normal_row(dataset.mean, dataset.std, height * width, str(device))

    def part(self, places: np.ndarray) -> Samples:
        """The samples at these places, which stay where they are."""
        part = copy.copy(self)
        part._places = torch.from_numpy(np.asarray(places, dtype=np.int64)).to(self._x.device)
        part.y = None if self.y is None else self.y[part._places.to(self.device)]
        return part

    @property
    def x(self) -> torch.Tensor:
        """All samples as they are kept: images in bytes, not normalised."""
        return self._x if self._places is None else self._x[self._places]

    def __len__(self) -> int:
        return int((self._x if self._places is None else self._places).shape[0])

    @property
    def nbytes(self) -> int:
        return int((self._x if self._places is None else self._places).nbytes)

    def batch(self, index: torch.Tensor | slice) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The samples and labels at these places."""
        labels = None if self.y is None else self.y[index]
        if self._x.device != self.device and isinstance(index, torch.Tensor):
            index = index.to(self._x.device)
        if self._places is not None:
            index = self._places[index]
        if not self._image:
            return self._x[index].to(self.device), labels
        # index_select is faster than indexing, but takes int64 positions only.
        plain = isinstance(index, torch.Tensor) and index.dtype == torch.int64 and index.dim() == 1
        rows = self._rows.index_select(0, index) if plain else self._rows[index]  # type: ignore[arg-type]
        normal = torch.addcmul(self._shift, rows.to(self.device).float(), self._scale)
        return normal.view(self._sides).permute(0, 3, 1, 2), labels


def residence(dataset: Sized, device: torch.device, everything: int, client: int) -> Residence:
    """Where a client of so many samples has them, of a data set of `everything`; "own" on all but CUDA devices."""
    if device.type != "cuda":
        return "own"
    if fits(dataset, everything, device, SHARED):
        return "whole"
    return "own" if fits(dataset, client, device, SHARED) else "host"


def kept_bytes(device: torch.device, lie: Residence, most: int) -> int:
    """How much of its clients' samples a process keeps: `most`, or less where they lie on a GPU."""
    return min(most, int(SHARED * hardware.total_memory(device))) if device.type == "cuda" and lie == "own" else most


def home(dataset: Sized, count: int, device: torch.device) -> torch.device:
    """Where so many samples lie for a process that has the device to itself."""
    fitting = device.type != "cuda" or fits(dataset, count, device, ALONE)
    return device if fitting else torch.device("cpu")


def fits(dataset: Sized, count: int, device: torch.device, share: float) -> bool:
    """Whether so many samples and their labels take no more than a share of the GPU's memory."""
    taken = count * (math.prod(dataset.shape) * BYTES.get(dataset.kind, 4) + 8)
    return taken <= share * hardware.total_memory(device)
