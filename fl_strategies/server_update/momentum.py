"""FedAvgM (Hsu, Qi & Brown, 2019): the average update gets momentum on the server.

    d = omega - sum_i p_i theta_i,   v+ = beta v + (1 - dampening) d,   omega+ = omega - lr v+

The default is heavy ball (dampening 0, lr 1). dampening = beta is the moving average of MOON's and FedDisco's code, the
same as heavy ball with lr = 1 - beta: one beta means very different things in the two. `nesterov` steps along
d + beta v+ instead of v+. beta = 0 and lr = 1 are FedAvg. State: v, in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import Matrix, State, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.server_update.base import RoundSettings, ServerStep


def momentum(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    lr: float = 1.0,
    beta: float = 0.9,
    dampening: float = 0.0,
    nesterov: bool = False,
) -> tuple[Vector, State]:
    descent = -weighted_sum(weights, updates)
    velocity = (1.0 - dampening) * descent
    if "velocity" in state:
        velocity += beta * state["velocity"]
    step = descent + beta * velocity if nesterov else velocity
    return (omega - lr * step).astype(np.float32), {"velocity": velocity}


class MomentumParams(Params):
    lr: float = Field(default=1.0, gt=0.0, allow_inf_nan=False, description="Server learning rate.")
    beta: float = Field(default=0.9, ge=0.0, lt=1.0, description="Momentum; 0 is plain averaging.")
    dampening: float = Field(
        default=0.0, ge=0.0, lt=1.0, description="0 is heavy ball; the value of beta is a moving average."
    )
    nesterov: bool = Field(default=False, description="Look one step ahead; needs dampening 0.")

    @model_validator(mode="after")
    def nesterov_is_undamped(self) -> MomentumParams:
        if self.nesterov and self.dampening:
            raise ValueError("nesterov momentum needs dampening 0: set one of the two")
        return self


@part(
    "avgm",
    slot="server optimizer",
    what="v = beta v + d, omega -= lr v",
    equation=r"d = \omega - \sum_{i \in S} p_i \, \theta_i, \qquad v^{+} = \beta \, v + (1 - \delta) \, d, \qquad \omega^{+} = \omega - \eta_s \, v^{+}",
    paper="fedavgm",
    year=2019,
)
class Momentum(ServerStep):
    Params = MomentumParams
    params: MomentumParams
    summed = ()

    def init(self, dim: int) -> State:
        return {"velocity": np.zeros(dim)}

    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return momentum(omega, updates, weights, state, **self.params.model_dump())
