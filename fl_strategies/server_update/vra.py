"""FedVRA, the server's half: the average of the replies plus a fraction of the mean dual variable.

Wang et al., AAAI 2023; the client's half is `clients.objectives.vra`. Our reconstruction:

    Lambda <- Lambda + a gamma sum_S Delta_i     Lambda = sum_all lambda_i
    omega+ = sum_S p_i theta_i + Lambda / (d N)

Dividing by d is the reading under which the FedSSG paper's numbers (d = 10, a = 7, gamma = 0.1) are stable;
multiplying diverges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clients.objectives.vra import VraParams
from fl_config.parts import half
from fl_protocol.types import Matrix, State, Vector
from fl_strategies.round.cohort import Cohort
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep


def vra(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    num_clients: int,
    gamma: float,
    a: float,
    d: float,
    averaged: Vector | None = None,
) -> tuple[Vector, State]:
    """state: Lambda [d]. `averaged` is what a server optimiser made of the replies; None takes the weighted average."""
    if averaged is None:
        averaged, _ = average(omega, updates, weights, {})
    dual = state["Lambda"] + a * gamma * updates.sum(axis=0, dtype=np.float64)
    return (averaged + dual / (d * num_clients)).astype(np.float32), {**state, "Lambda": dual}


@half("vra")
class Vra(ServerStep):
    Params = VraParams

    def init(self, dim: int) -> State:
        return {"Lambda": np.zeros(dim)}

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        p = self.params
        count = cohort.population.count
        return vra(
            omega,
            cohort.updates,
            cohort.share,
            state,
            num_clients=count,
            gamma=p.gamma,
            a=p.a,
            d=p.d,
            averaged=averaged,
        )
