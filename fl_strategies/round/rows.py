"""One vector per client, as many as there are: in memory up to a limit, beyond it in a temporary file, read back one at a time.

Sums over clients go row by row anyway (`weighted_sum`), so that a large cohort costs disk instead of memory and gives the same
bits. Whatever needs the whole matrix still gets it, by `np.asarray`. Rows that are differences to one vector are subtracted when
they are read: the clients' models stay where they came in, and a sum takes a piece of each at a time, as large as a cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.types import Matrix, Vector

LIMIT = 256 * 2**20  # bytes of one kind of vector in memory
PIECE = 2**16  # numbers that are summed at a time


class Rows:
    """Rows are added as they come and read in the order of `arranged`; with a `base` they are what was added less the base."""

    def __init__(self, dim: int, limit: int = LIMIT, base: Vector | None = None) -> None:
        self.dim, self.limit, self.base = dim, limit, base
        self.held: list[Vector] = []
        self.filed = 0
        self.file: Any = None
        self.order: list[int] = []

    def add(self, row: Vector) -> None:
        if (len(self.held) + 1) * row.nbytes <= self.limit:
            self.held.append(row)
            return
        if self.file is None:
            self.file = tempfile.TemporaryFile(prefix="fedloom-rows-")  # noqa: SIM115 (gone with this object)
        self.file.write(np.ascontiguousarray(self._less_base(row), dtype=np.float32).data)
        self.filed += 1

    def arranged(self, order: Sequence[int]) -> Matrix:
        """The rows in this order. Nothing is copied: this object stands in for the matrix."""
        self.order = list(order)
        if self.file is not None:
            self.file.flush()
        return cast(Matrix, self)

    def _row(self, place: int) -> Vector:
        if place < len(self.held):
            return self._less_base(self.held[place])
        row = np.empty(self.dim, dtype=np.float32)
        self.file.seek((place - len(self.held)) * row.nbytes)
        if self.file.readinto(row.data) != row.nbytes:
            raise OSError("The temporary file of the clients' updates is shorter than what was written to it.")
        return row

    def _less_base(self, row: Vector) -> Vector:
        return row if self.base is None else row - self.base

    def weighted_sum(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """sum_i w_i x_i in float64. Each number is summed in the order of the rows, however the work is cut."""
        total = np.zeros(self.dim, dtype=np.float64)
        chosen = [(weight, place) for weight, place in zip(weights, self.order, strict=True) if weight != 0.0]
        whole = max([place for _, place in chosen], default=0) >= len(self.held)  # a file is read row by row
        size = self.dim if whole else min(PIECE, self.dim)
        term, difference = np.empty(size, dtype=np.float64), np.empty(size, dtype=np.float32)
        for start in range(0, self.dim, max(1, size)):
            part = slice(start, start + size)
            sums = total[part]
            product = term[: len(sums)]
            for weight, place in chosen:
                if whole:
                    piece = self._row(place)
                elif self.base is None:
                    piece = self.held[place][part]
                else:
                    piece = np.subtract(self.held[place][part], self.base[part], out=difference[: len(sums)])
                np.copyto(product, piece)  # in two steps, which takes half as long as multiplying into another type
                np.multiply(product, weight, out=product)
                np.add(sums, product, out=sums)
        return total

    # What the server's steps use of a matrix

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.order), self.dim

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Vector]:
        return (self._row(place) for place in self.order)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.stack(list(self)).astype(np.float32 if dtype is None else dtype, copy=False)

    def sum(self, axis: int, dtype: Any) -> NDArray[Any]:
        total = np.zeros(self.dim, dtype=dtype)
        for row in self:
            total += row
        return total

    def mean(self, axis: int, dtype: Any) -> NDArray[Any]:
        return self.sum(axis, dtype) / len(self)


class Summed(Rows):
    """Stands in for rows that nobody has one by one: their sum by weights that were agreed on beforehand, and means of `numbers`."""

    def __init__(
        self, count: int, weights: NDArray[np.float64], mean: NDArray[np.float64], numbers: Mapping[str, float]
    ) -> None:
        super().__init__(len(mean))
        self.weights, self.mean_row, self.numbers = weights, mean, numbers
        self.order = list(range(count))

    def weighted_sum(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if not np.array_equal(weights, self.weights):
            raise ConfigError("Updates that were summed under masks have one sum: that by the weights agreed on.")
        return self.mean_row.copy()

    def _row(self, place: int) -> Vector:
        raise ConfigError("Updates that were summed under masks are not known one by one.")

    def add(self, row: Vector) -> None:
        self._row(0)
