"""`longtail:RHO,` before a partition, and the target `imbalanced:RHO`: classes thinned to n_c = n_1 RHO^{-(c-1)/(C-1)}."""

from __future__ import annotations

import math

import numpy as np


def longtail_indices(labels: np.ndarray, num_classes: int, rho: float, generator: np.random.Generator) -> np.ndarray:
    """The sorted indices that are kept: of a class at least one and at most what it has."""
    first = int((labels == 0).sum())
    kept = []
    for label in range(num_classes):
        pool = np.flatnonzero(labels == label)
        # The nudge keeps exact powers, such as 100 * 10^-1, from being floored one too low.
        wanted = math.floor(first * rho ** (-label / max(1, num_classes - 1)) + 1e-9)
        count = min(len(pool), max(1, wanted))
        kept.append(generator.permutation(pool)[:count])
    return np.sort(np.concatenate(kept)) if kept else np.arange(0)
