"""Server momentum: hand-computed values and degenerate cases."""

from __future__ import annotations

import numpy as np

from fl_protocol.types import State
from fl_strategies.server_update.average import average
from fl_strategies.server_update.momentum import Momentum, MomentumParams, momentum
from tests.fl_strategies.server_update.optimizer_round import (
    MEAN,
    OMEGA,
    UPDATES,
    WEIGHTS,
    close,
    random_round,
    settings,
)


def test_heavy_ball_hand_computed_over_two_rounds() -> None:
    first, state = momentum(OMEGA, UPDATES, WEIGHTS, {}, beta=0.9)
    close(first, [1.1, 2.6, 2.8])
    close(state["velocity"], -MEAN, 1e-7)
    second, state = momentum(first, UPDATES, WEIGHTS, state, beta=0.9)
    close(state["velocity"], -1.9 * MEAN, 1e-7)
    close(second, [1.29, 3.74, 2.42])
    assert second.dtype == np.float32 and state["velocity"].dtype == np.float64


def test_nesterov_hand_computed() -> None:
    # v = -mean, step -mean (1 + 0.9); then v = -1.9 mean, step -mean (1 + 0.9 * 1.9).
    first, state = momentum(OMEGA, UPDATES, WEIGHTS, {}, beta=0.9, nesterov=True)
    close(first, [1.19, 3.14, 2.62])
    second, _ = momentum(first, UPDATES, WEIGHTS, state, beta=0.9, nesterov=True)
    close(second, OMEGA + (1.9 + 2.71) * MEAN)


def test_moving_average_is_heavy_ball_with_lr_one_minus_beta() -> None:
    omega_ema = omega_ball = random_round(0)[0]
    ema: State = {}
    ball: State = {}
    for t in range(5):
        _, updates, weights = random_round(t + 1)
        omega_ema, ema = momentum(omega_ema, updates, weights, ema, beta=0.7, dampening=0.7)
        omega_ball, ball = momentum(omega_ball, updates, weights, ball, beta=0.7, lr=0.3)
        close(omega_ema, omega_ball)
        np.testing.assert_allclose(ema["velocity"], 0.3 * ball["velocity"], rtol=1e-12)


def test_momentum_of_beta_zero_is_the_average_to_the_bit() -> None:
    for nesterov in (False, True):
        omega, updates, weights = random_round(3)
        got, _ = momentum(omega, updates, weights, {"velocity": np.ones(6)}, beta=0.0, nesterov=nesterov)
        assert np.array_equal(got, average(omega, updates, weights, {})[0])


def test_momentum_step_uses_its_parameters_and_leaves_its_state_alone() -> None:
    step = Momentum(MomentumParams(lr=0.5, beta=0.8, dampening=0.8))
    state = step.init(3)
    omega, new = step.optimise(OMEGA, UPDATES, WEIGHTS, state, settings())
    close(omega, OMEGA + 0.5 * 0.2 * MEAN)
    assert not state["velocity"].any() and new["velocity"].any()
