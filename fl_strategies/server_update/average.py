"""The weighted average: omega+ = omega + sum_i p_i Delta_i = sum_i p_i theta_i (FedAvg, McMahan et al., AISTATS 2017).

Buffers (BatchNorm's running statistics and counters) are averaged apart from the parameters, which methods correct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import Arrays, Matrix, State, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.server_update.base import RoundSettings, ServerStep


def average(omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State) -> tuple[Vector, State]:
    return (omega + weighted_sum(weights, updates)).astype(np.float32), state


class Average(ServerStep):
    summed = ()

    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return average(omega, updates, weights, state)


def average_buffers(buffers: Sequence[Mapping[str, NDArray[Any]]], weights: NDArray[np.float64]) -> Arrays:
    """Float buffers by the weights, integer ones (counters) by their maximum; never corrected, never given momentum."""
    averaged: Arrays = {}
    for name, first in buffers[0].items():
        stacked = np.stack([each[name] for each in buffers])
        if np.issubdtype(first.dtype, np.floating):
            averaged[name] = np.tensordot(weights, stacked.astype(np.float64), axes=1).astype(first.dtype)
        else:
            averaged[name] = stacked.max(axis=0)
    return averaged
