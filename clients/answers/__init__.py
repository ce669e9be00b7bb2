"""Numbers and vectors that a client can be asked for: one file per question."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.answers.base import NUMBERS, VECTORS, Facts, answer
from fl_config.parts import read_rooms

__all__ = ["Facts", "number_of", "vector_of"]


def number_of(name: str, facts: Facts, arguments: dict[str, Any] | None = None) -> float:
    read_rooms((__name__,))
    return float(answer(NUMBERS, name, facts, arguments))


def vector_of(name: str, facts: Facts, arguments: dict[str, Any] | None = None) -> NDArray[np.int64]:
    read_rooms((__name__,))
    found: NDArray[np.int64] = answer(VECTORS, name, facts, arguments)
    return found
