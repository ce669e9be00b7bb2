"""Real numbers as whole ones, for secure sums: x becomes round(x 2^24), in sums of whole updates round(x 2^32).

Whole numbers add up exactly, in any order and under masks. Each part is off by at most 2^-25 (3e-8), so a sum over m clients is off by
at most m 2^-25, whatever its size; in sums of updates by at most m 2^-33 (m times 1.2e-10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fl_config.errors import ConfigError

SCALE = 2.0**24
FINE = 2.0**32  # of updates, whose numbers are small
LARGEST = 2.0**38  # of which one client's number, in fixed point, still fits into a signed 64-bit word


def to_fixed(values: ArrayLike, scale: float = SCALE) -> NDArray[np.int64]:
    """The nearest whole multiples of 1 / scale; a sentence for what has none."""
    given, largest = np.asarray(values, dtype=np.float64), LARGEST * SCALE / scale
    if not (np.abs(given) < largest).all():
        raise ConfigError(
            f"A secure sum takes finite numbers below {largest:.0f}, but one that is not was given: the model's features "
            "or weights are too large; lower --lr, or set --clip."
        )
    return np.rint(given * scale).astype(np.int64)


def from_fixed(values: NDArray[np.int64], scale: float = SCALE) -> NDArray[np.float64]:
    return values.astype(np.float64) / scale
