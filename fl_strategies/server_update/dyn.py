"""FedDyn, the server's half, which FedSpeed shares: the average of the replies plus the mean memory of all clients.

Acar et al., ICLR 2021; the client's half is `clients.objectives.dyn`.

    H  <- H + sum_S Delta_i                      H = sum_all h_i, a running sum: no per-client storage
    omega+ = sum_S p_i theta_i + H / N

The paper's h is -(alpha / N) H. Weights touch the average of theta only; who does not take part keeps its share of H.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clients.objectives.dyn import DynParams
from clients.optimizers import SpeedParams
from fl_config.params import Params
from fl_config.parts import half
from fl_protocol.types import ClientId, Matrix, State, Vector
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep


def dyn(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    num_clients: int,
    averaged: Vector | None = None,
) -> tuple[Vector, State]:
    """state: H [d]. `averaged` is what a server optimiser made of the replies; None takes the weighted average."""
    if averaged is None:
        averaged, _ = average(omega, updates, weights, {})
    memory = state["H"] + updates.sum(axis=0, dtype=np.float64)
    return (averaged + memory / num_clients).astype(np.float32), {**state, "H": memory}


@half("dyn")
class Dyn(ServerStep):
    Params: ClassVar[type[Params]] = DynParams

    def init(self, dim: int) -> State:
        return {"H": np.zeros(dim)}

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        return {"q": population.relative_size(client)}

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return dyn(omega, cohort.updates, cohort.share, state, num_clients=cohort.population.count, averaged=averaged)


@half("speed")
class Speed(Dyn):
    Params = SpeedParams

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        return {}
