"""Where a client writes the vectors of its reply: fresh memory, unless the engine lends some that the server reads as it lies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np

from fl_protocol.types import Vector

Lender = Callable[[int], Vector | None]  # so many numbers, or None where there is no room for them
_lenders: list[Lender] = []


@contextlib.contextmanager
def lending(lender: Lender) -> Iterator[None]:
    """Inside, `outgoing_vector` asks the lender first."""
    _lenders.append(lender)
    try:
        yield
    finally:
        _lenders.pop()


def outgoing_vector(size: int) -> Vector:
    """Memory for so many numbers, which belong to the reply from then on."""
    lent = _lenders[-1](size) if _lenders else None
    return np.empty(size, dtype=np.float32) if lent is None else lent
