"""How all that a client adds to a masked sum lies in one vector: its update, the changes of its buffers, and a few numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.layout import Layout
from fl_protocol.types import Arrays

LOSS = "train-loss"  # is always one of the numbers


@dataclass(frozen=True)
class Contributions:
    """The vector is [update | buffers | numbers]; `numbers` are asked for beside the loss, which comes first."""

    layout: Layout
    numbers: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (LOSS, *self.numbers)

    @property
    def length(self) -> int:
        return self.layout.dim + sum(self._sizes.values()) + len(self.names)

    @property
    def _sizes(self) -> dict[str, int]:
        return {name: math.prod(self.layout.shapes[name]) for name in self.layout.buffers}

    def joined(
        self, update: NDArray[np.float64], buffers: Mapping[str, NDArray[np.float64]], numbers: Mapping[str, float]
    ) -> NDArray[np.float64]:
        parts: Sequence[Any] = [update, *(buffers[name].reshape(-1) for name in self._sizes)]
        return np.concatenate([*parts, np.array([numbers[name] for name in self.names])]).astype(np.float64)

    def parted(self, vector: NDArray[np.float64]) -> tuple[NDArray[np.float64], Arrays, dict[str, float]]:
        """The reverse of `joined`."""
        at = np.cumsum([self.layout.dim, *self._sizes.values()])
        update, *rest = np.split(vector, at)
        buffers = {
            name: piece.reshape(self.layout.shapes[name]) for name, piece in zip(self._sizes, rest, strict=False)
        }
        return update, buffers, dict(zip(self.names, rest[-1].tolist(), strict=True))
