"""Averaging what is not trained: BatchNorm's running statistics and counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Buffers = dict[str, NDArray[Any]]


def average_buffers(buffers: Sequence[Mapping[str, NDArray[Any]]], weights: NDArray[np.float64]) -> Buffers:
    """Float buffers by the weights, integer ones (counters) by their maximum; never corrected, never given momentum."""
    averaged: Buffers = {}
    for name, first in buffers[0].items():
        stacked = np.stack([each[name] for each in buffers])
        if np.issubdtype(first.dtype, np.floating):
            averaged[name] = np.tensordot(weights, stacked.astype(np.float64), axes=1).astype(first.dtype)
        else:
            averaged[name] = stacked.max(axis=0)
    return averaged
