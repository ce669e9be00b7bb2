"""The model as the server sees it: named arrays on the wire, one flat vector of parameters and named buffers inside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_models.flat import joined
from fl_protocol.types import Arrays, Vector


@dataclass(frozen=True)
class Layout:
    """Names and shapes of every array of the state dict, in its order; `parameters` are those that are trained."""

    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]
    parameters: tuple[str, ...]
    private: frozenset[str] = frozenset()  # kept by the clients; never sent up

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], parameters: Sequence[str], private: Iterable[str] = ()) -> Layout:
        shapes = {name: tuple(value.shape) for name, value in arrays.items()}
        return cls(
            shapes, {name: str(value.dtype) for name, value in arrays.items()}, tuple(parameters), frozenset(private)
        )

    @cached_property
    def dim(self) -> int:
        return sum(math.prod(self.shapes[name]) for name in self.parameters)

    @cached_property
    def buffers(self) -> list[str]:
        return [name for name in self.shapes if name not in self.trained]

    @cached_property
    def shared(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what clients send up."""
        return {name: shape for name, shape in self.shapes.items() if name not in self.private}

    @cached_property
    def trained(self) -> frozenset[str]:
        return frozenset(self.parameters)

    def pack(self, arrays: Mapping[str, NDArray[Any]]) -> Vector:
        """The parameters as one vector: a view of them where they lie one after the other, as those of a reply do, else a copy."""
        pieces = [np.asarray(arrays[name], dtype=np.float32).reshape(-1) for name in self.parameters]
        return joined(pieces)

    def unpack(self, vector: Vector, buffers: Mapping[str, NDArray[Any]]) -> Arrays:
        named: Arrays = dict(buffers)
        start = 0
        for name in self.parameters:
            size = math.prod(self.shapes[name])
            named[name] = vector[start : start + size].reshape(self.shapes[name])
            start += size
        return {name: named[name] for name in self.shapes}
