"""FedExP (Jhunjhunwala, Wang & Joshi, ICLR 2023): a longer server step the more the clients' updates disagree.

    lr_g = max(1, sum_i p_i ||Delta_i||^2 / (2 (||D||^2 + eps))),   D = sum_i p_i Delta_i,   omega+ = omega + lr_g D

Identical updates give lr_g = 1 (FedAvg), m orthogonal ones of equal length m / 2. Norms are over parameters, not
buffers. eps is constant by default. The authors' code has m eps (`eps_scale_m`) and lets it decay with the square of
the client's learning rate (`eps_decay`). It also evaluates the mean of the last two iterates while training goes on
from the last one: with `eval_average` the state keeps the model that was sent, and `evaluated` gives that mean.
`momentum` > 0 is a reconstruction of the authors' variant with momentum, which has no max(1, .):

    v+ = beta v + D,   n+ = sum_i p_i ||Delta_i||^2 + (beta / 2) n,   omega+ = omega + n+ / (2 (||v+||^2 + eps)) v+
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import Matrix, State, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.round.rows import Summed
from fl_strategies.server_update.base import RoundSettings, ServerStep


def squared_norm(vector: NDArray[np.floating]) -> float:
    """||x||^2 in float64, without a BLAS whose threads could change the bits."""
    return float(np.sum(np.square(vector, dtype=np.float64)))


def exp(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    eps: float = 1e-3,
    momentum: float = 0.0,
) -> tuple[Vector, State]:
    """One step; `step_size` in the new state is lr_g."""
    direction = weighted_sum(weights, updates)
    if isinstance(updates, Summed):
        numerator = updates.numbers["squared_norm"]
    else:
        numerator = float(sum(w * squared_norm(row) for w, row in zip(weights, updates, strict=True)))
    new: State = {}
    if momentum:
        if "velocity" in state:
            direction += momentum * state["velocity"]
            numerator += momentum / 2.0 * float(state["numerator"])
        new = {"velocity": direction, "numerator": np.array(numerator)}
    denominator = 2.0 * (squared_norm(direction) + eps)
    # With eps = 0 and no movement at all the ratio is 0 / 0; any step is then the same.
    step_size = numerator / denominator if denominator > 0.0 else 1.0
    if not momentum:
        step_size = max(1.0, step_size)
    new["step_size"] = np.array(step_size)
    return (omega + step_size * direction).astype(np.float32), new


class ExpParams(Params):
    eps: float = Field(
        default=1e-3, ge=0.0, allow_inf_nan=False, description="Added to ||D||^2; large values give FedAvg."
    )
    eps_scale_m: bool = Field(
        default=False, description="Multiply eps by the number of replies, as the authors' code does."
    )
    eps_decay: bool = Field(
        default=False,
        description="Let eps decay with the square of the client's learning rate, as the authors' code does.",
    )
    eval_average: bool = Field(
        default=False, description="Evaluate the mean of the last two models; training goes on from the last one."
    )
    momentum: float = Field(
        default=0.0, ge=0.0, lt=1.0, description="Server momentum of the authors' variant; 0 is FedExP."
    )


@part(
    "exp",
    slot="server optimizer",
    what="extrapolated server step",
    equation=r"""
        D &= \sum_{i \in S} p_i \, \Delta_i, \qquad
            \eta_g = \max \left( 1, \; \frac{\sum_{i \in S} p_i \, \lVert \Delta_i \rVert^2}{2 \, (\lVert D \rVert^2 + \varepsilon)} \right) \\
        \omega^{+} &= \omega + \eta_g \, D
    """,
    paper="fedexp",
    year=2023,
)
class Exp(ServerStep):
    Params = ExpParams
    params: ExpParams
    summed = ("squared_norm",)

    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        eps = self.params.eps
        if self.params.eps_scale_m:
            eps *= len(updates)
        if self.params.eps_decay:
            eps *= (settings.lr / settings.initial_lr) ** 2
        following, new = exp(omega, updates, weights, state, eps=eps, momentum=self.params.momentum)
        if self.params.eval_average:
            new["previous"] = omega.copy()
        return following, new

    def evaluated(self, omega: Vector, state: State) -> Vector:
        """The model to evaluate in place of omega, the newest one."""
        if "previous" not in state:
            return omega
        return ((omega.astype(np.float64) + state["previous"]) / 2.0).astype(np.float32)

    def metrics(self, state: State) -> dict[str, float]:
        return {"exp/step_size": float(state["step_size"])} if "step_size" in state else {}
