"""What a server step is. A round's update is up to four steps, each a pure function of vectors and state, in this order:

    normalise   updates, weights -> updates                       nova
    optimise    omega, updates, weights, state -> omega, state     average, momentum, adaptive, exp
    drift       averaged omega, cohort, state -> omega, state     dyn, scaffold, dc, ssg, vra
    polish      omega, client models, unlabelled data -> omega    df

A step keeps its state in a plain dict of arrays (float64 where it is a running sum), so that a checkpoint needs no code of the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fl_config.params import Params
from fl_protocol.types import ClientId, Matrix, State, Vector
from fl_strategies.round.cohort import Cohort, Population

if TYPE_CHECKING:
    from fl_strategies.round.resources import ServerResources


@dataclass(frozen=True)
class RoundSettings:
    """The numbers of one round that steps may need."""

    round: int  # t, from 1
    rounds: int  # T, the planned horizon
    fraction: float  # p, the nominal participation rate
    epochs: int
    batch_size: int
    lr: float  # eta_t
    initial_lr: float  # eta_0


class ServerStep:
    """Base of every step; a subclass overrides the stages it takes part in and declares its `Params`."""

    kind: ClassVar[str] = "server step"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")
    needs_target: ClassVar[bool] = False  # learns on the server's unlabelled target data, with whole client models
    needs_horizon: ClassVar[bool] = False  # must know how many rounds are planned
    # What it needs of the updates beside their weighted mean, as numbers whose mean is enough (clients/secure/contribution.py has
    # them by name). None is every update by itself, which nobody has where updates are summed under masks.
    summed: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, params: Any) -> None:
        self.params = params

    def init(self, dim: int) -> State:
        return {}

    def broadcast(self, state: State) -> dict[str, Vector]:
        """Arrays of length d sent to every client of the round."""
        return {}

    def scalars(
        self, state: State, client: ClientId, population: Population, settings: RoundSettings
    ) -> dict[str, float]:
        """Numbers sent to one client of the round."""
        return {}

    def uploads(self) -> tuple[str, ...]:
        """Names of the vectors of length d that every client must send up beside its model."""
        return ()

    def normalise(self, cohort: Cohort, weights: NDArray[np.float64]) -> Matrix:
        return cohort.updates

    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        raise NotImplementedError(f"{type(self).__name__} is not a server optimiser")

    def drift(
        self, omega: Vector, averaged: Vector, cohort: Cohort, state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        """omega is the model that was sent, averaged what the optimiser made of the replies."""
        return averaged, state

    def polish(self, omega: Vector, cohort: Cohort, server: ServerResources, settings: RoundSettings) -> Vector:
        """omega after all other steps; client models are cohort.sent + cohort.updates."""
        return omega

    def evaluated(self, omega: Vector, state: State) -> Vector:
        """The model that is evaluated and saved; training goes on from omega."""
        return omega

    def metrics(self, state: State) -> dict[str, float]:
        """Numbers worth recording after the step."""
        return {}
