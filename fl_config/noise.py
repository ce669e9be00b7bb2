"""Standard normal numbers for differential privacy: of a seed where a simulation is to give its bits again, else of the system.

Noise that others can compute protects nobody, so outside of a simulation every number is made of the operating system's entropy, by
the inverse of the normal distribution: there is no generator whose state could be guessed from what was seen of the noise.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from fl_config.seeds import rng

BITS = 53  # of a uniform number, as many as a float holds


def normal(dim: int, seed: int | None, *parts: int | str) -> NDArray[np.float64]:
    """`dim` independent numbers; `parts` (round, client) tell draws of one seed apart. Without a seed, of the system's entropy."""
    if seed is not None:
        return rng(seed, "privacy noise", *parts).standard_normal(dim)
    from scipy.special import ndtri

    words = np.frombuffer(os.urandom(8 * dim), dtype="<u8") >> (64 - BITS)
    drawn: NDArray[np.float64] = ndtri((words + 0.5) * 2.0**-BITS)
    return drawn
