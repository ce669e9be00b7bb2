"""FedAdam, FedYogi and FedAdagrad (Reddi et al., "Adaptive Federated Optimization", ICLR 2021, Algorithm 2).

    D = sum_i p_i Delta_i,   m+ = beta1 m + (1 - beta1) D,   omega+ = omega + lr m+ / (sqrt(v+) + tau)
    Adagrad  v+ = v + D^2
    Yogi     v+ = v - (1 - beta2) D^2 sign(v - D^2)
    Adam     v+ = beta2 v + (1 - beta2) D^2

m starts at 0 and v at tau^2; there is no bias correction, as in the paper (Flower's FedAdam has one, and v = 0).
tau is the degree of adaptivity: coordinates with |D| below it move in proportion to D, those above about equally far.
Defaults: beta1 0.9, beta2 0.99, tau 1e-3 as in the paper's experiments; Adagrad has no momentum there, so beta1 is 0.
The learning rate was tuned by task there; here it is 0.01 for Adam and Yogi and 0.1 for Adagrad, whose v only grows:
the size that its vision tasks chose. Tune it by powers of ten. State: m and v, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import Matrix, State, Vector
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.server_update.base import RoundSettings, ServerStep

Moments = NDArray[np.float64]
SecondMoment = Callable[[Moments, Moments, float], Moments]


def adagrad_moment(v: Moments, square: Moments, beta2: float) -> Moments:
    return v + square


def yogi_moment(v: Moments, square: Moments, beta2: float) -> Moments:
    return v - (1.0 - beta2) * square * np.sign(v - square)


def adam_moment(v: Moments, square: Moments, beta2: float) -> Moments:
    return beta2 * v + (1.0 - beta2) * square


def adaptive(
    omega: Vector,
    updates: Matrix,
    weights: NDArray[np.float64],
    state: State,
    *,
    second_moment: SecondMoment,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.99,
    tau: float = 1e-3,
) -> tuple[Vector, State]:
    """The common step; an empty state means m = 0 and v = tau^2."""
    mean = weighted_sum(weights, updates)
    m = beta1 * state["m"] + (1.0 - beta1) * mean if "m" in state else (1.0 - beta1) * mean
    v = second_moment(state["v"] if "v" in state else np.full(mean.shape, tau**2), np.square(mean), beta2)
    return (omega + lr * m / (np.sqrt(v) + tau)).astype(np.float32), {"m": m, "v": v}


class AdagradParams(Params):
    lr: float = Field(default=0.1, gt=0.0, allow_inf_nan=False, description="Server learning rate.")
    beta1: float = Field(default=0.0, ge=0.0, lt=1.0, description="Decay of the first moment; 0 is no momentum.")
    tau: float = Field(
        default=1e-3, gt=0.0, allow_inf_nan=False, description="Degree of adaptivity, added to the root of v."
    )


class AdamParams(Params):
    lr: float = Field(default=0.01, gt=0.0, allow_inf_nan=False, description="Server learning rate.")
    beta1: float = Field(default=0.9, ge=0.0, lt=1.0, description="Decay of the first moment; 0 is no momentum.")
    beta2: float = Field(default=0.99, ge=0.0, lt=1.0, description="Decay of the second moment.")
    tau: float = Field(
        default=1e-3, gt=0.0, allow_inf_nan=False, description="Degree of adaptivity, added to the root of v."
    )


class Adaptive(ServerStep):
    """What the three share; a subclass names its second moment."""

    summed = ()
    second_moment: ClassVar[staticmethod[[Moments, Moments, float], Moments]]

    def init(self, dim: int) -> State:
        return {"m": np.zeros(dim), "v": np.full(dim, self.params.tau**2)}

    def optimise(
        self, omega: Vector, updates: Matrix, weights: NDArray[np.float64], state: State, settings: RoundSettings
    ) -> tuple[Vector, State]:
        return adaptive(omega, updates, weights, state, second_moment=self.second_moment, **self.params.model_dump())


@part(
    "adagrad",
    slot="server optimizer",
    what="Adagrad on the averaged update",
    equation=r"""
        D &= \sum_{i \in S} p_i \, \Delta_i, \qquad m^{+} = \beta_1 m + (1 - \beta_1) D, \qquad v^{+} = v + D^2 \\
        \omega^{+} &= \omega + \eta_s \, \frac{m^{+}}{\sqrt{v^{+}} + \tau}
    """,
    paper="fedopt",
    year=2021,
)
class Adagrad(Adaptive):
    Params = AdagradParams
    second_moment = staticmethod(adagrad_moment)


@part(
    "yogi",
    slot="server optimizer",
    what="Yogi on the averaged update",
    equation=r"""
        D &= \sum_{i \in S} p_i \, \Delta_i, \qquad m^{+} = \beta_1 m + (1 - \beta_1) D, \qquad
            v^{+} = v - (1 - \beta_2) \, D^2 \operatorname{sign}(v - D^2) \\
        \omega^{+} &= \omega + \eta_s \, \frac{m^{+}}{\sqrt{v^{+}} + \tau}
    """,
    paper="fedopt",
    year=2021,
)
class Yogi(Adaptive):
    Params = AdamParams
    second_moment = staticmethod(yogi_moment)


@part(
    "adam",
    slot="server optimizer",
    what="Adam on the averaged update",
    equation=r"""
        D &= \sum_{i \in S} p_i \, \Delta_i, \qquad m^{+} = \beta_1 m + (1 - \beta_1) D, \qquad v^{+} = \beta_2 v + (1 - \beta_2) D^2 \\
        \omega^{+} &= \omega + \eta_s \, \frac{m^{+}}{\sqrt{v^{+}} + \tau}
    """,
    paper="fedopt",
    year=2021,
)
class Adam(Adaptive):
    Params = AdamParams
    second_moment = staticmethod(adam_moment)
