"""SCAFFOLD, the server's half: the average of the replies, and the mean of all clients' control variates.

Karimireddy et al., ICML 2020; the client's half is `clients.objectives.scaffold`.

    omega+ = sum_S p_i theta_i
    c+ = c + (1/N) sum_S (c_i+ - c_i)            size_scaled: q_i (c_i+ - c_i)

Weights touch the average of theta only, never c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clients.objectives.scaffold import ScaffoldParams
from fl_config.parts import half
from fl_protocol.types import ClientId, Matrix, State, Vector
from fl_strategies.round.cohort import Cohort, Population, weighted_sum
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep


def scaffold(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    delta_c: Matrix,
    num_clients: int,
    relative_sizes: NDArray[np.float64] | None = None,
    averaged: Vector | None = None,
) -> tuple[Vector, State]:
    """state: c [d]. relative_sizes q [m] only for the size-scaled form; `averaged` None takes the weighted average."""
    if averaged is None:
        averaged, _ = average(omega, updates, weights, {})
    factors = np.ones(len(delta_c)) if relative_sizes is None else relative_sizes
    return averaged, {**state, "c": state["c"] + weighted_sum(factors, delta_c) / num_clients}


def relative_sizes_of(cohort: Cohort) -> NDArray[np.float64]:
    """q [m] as the clients were told it."""
    return np.array([cohort.population.relative_size(client) for client in cohort.ids])


@half("scaffold")
class Scaffold(ServerStep):
    Params = ScaffoldParams

    def init(self, dim: int) -> State:
        return {"c": np.zeros(dim)}

    def broadcast(self, state: State) -> dict[str, Vector]:
        return {"c": state["c"].astype(np.float32)}

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        if not self.params.size_scaled:
            return {}
        return {
            "q": population.relative_size(client),
            "steps": float(population.steps(settings.epochs, settings.batch_size)),
        }

    def uploads(self) -> tuple[str, ...]:
        return ("delta_c",)

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return scaffold(
            omega,
            cohort.updates,
            cohort.share,
            state,
            delta_c=cohort.extras["delta_c"],
            num_clients=cohort.population.count,
            relative_sizes=relative_sizes_of(cohort) if self.params.size_scaled else None,
            averaged=averaged,
        )
