"""The weighted average: omega+ = omega + sum_i p_i Delta_i = sum_i p_i theta_i (FedAvg, McMahan et al., AISTATS 2017)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import Matrix, State, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.server_update.base import RoundSettings, ServerStep


def average(omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State) -> tuple[Vector, State]:
    return (omega + weighted_sum(weights, updates)).astype(np.float32), state


class Average(ServerStep):
    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return average(omega, updates, weights, state)
