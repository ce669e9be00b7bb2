"""FedDC, the server's half: the average of the replies plus the mean drift of all clients, and the mean gradient state.

Gao et al., CVPR 2022; the client's half is `clients.objectives.dc`.

    H  <- H + sum_S Delta_i                      H = sum_all h_i
    s+ = s + (1/N) sum_S q_i (s_i+ - s_i)
    omega+ = sum_S p_i theta_i + H / N

Weights touch the average of theta only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clients.objectives.dc import DcParams
from fl_config.parts import half
from fl_protocol.types import ClientId, Matrix, State, Vector
from fl_strategies.round.cohort import Cohort, Population, weighted_sum
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep
from fl_strategies.server_update.scaffold import relative_sizes_of


def dc(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    delta_s: Matrix,
    relative_sizes: NDArray[np.float64],
    num_clients: int,
    averaged: Vector | None = None,
) -> tuple[Vector, State]:
    """state: H, s [d]; relative_sizes are q [m]. `averaged` None takes the weighted average."""
    if averaged is None:
        averaged, _ = average(omega, updates, weights, {})
    memory = state["H"] + weighted_sum(np.ones(len(updates)), updates)
    gradient = state["s"] + weighted_sum(relative_sizes, delta_s) / num_clients
    return (averaged + memory / num_clients).astype(np.float32), {**state, "H": memory, "s": gradient}


@half("dc")
class Dc(ServerStep):
    Params = DcParams

    def init(self, dim: int) -> State:
        return {"H": np.zeros(dim), "s": np.zeros(dim)}

    def broadcast(self, state: State) -> dict[str, Vector]:
        return {"s": state["s"].astype(np.float32)}

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        return {
            "q": population.relative_size(client),
            "steps": float(population.steps(settings.epochs, settings.batch_size)),
        }

    def uploads(self) -> tuple[str, ...]:
        return ("delta_s",)

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return dc(
            omega,
            cohort.updates,
            cohort.share,
            state,
            delta_s=cohort.extras["delta_s"],
            relative_sizes=relative_sizes_of(cohort),
            num_clients=cohort.population.count,
            averaged=averaged,
        )
