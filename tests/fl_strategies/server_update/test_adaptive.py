"""FedAdam, FedYogi and FedAdagrad: hand-computed values and an independent loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fl_strategies.server_update.adaptive import (
    Adagrad,
    AdagradParams,
    Adam,
    AdamParams,
    Yogi,
    adagrad_moment,
    adam_moment,
    adaptive,
    yogi_moment,
)
from tests.fl_strategies.server_update.optimizer_round import OMEGA, UPDATES, WEIGHTS, close, random_round, settings


def test_adam_hand_computed_over_two_rounds() -> None:
    # v0 = 0.01^2; v1 = 0.99 * 1e-4 + 0.01 D^2 = (1.99e-4, 3.699e-3, 4.99e-4); m1 = D / 10.
    kw: dict[str, Any] = {"second_moment": adam_moment, "lr": 0.1, "tau": 0.01}
    first, state = adaptive(OMEGA, UPDATES, WEIGHTS, {}, **kw)
    close(state["v"], [1.99e-4, 3.699e-3, 4.99e-4], 1e-9)
    close(state["m"], [0.01, 0.06, -0.02], 1e-8)
    close(first, [1.0414822, 2.0847225, 2.9381538])
    second, state = adaptive(first, UPDATES, WEIGHTS, state, **kw)
    close(state["v"], [2.9701e-4, 7.26201e-3, 8.9401e-4], 1e-9)
    close(state["m"], [0.019, 0.114, -0.038], 1e-8)
    close(second, first + 0.1 * np.array([0.019, 0.114, -0.038]) / (np.sqrt([2.9701e-4, 7.26201e-3, 8.9401e-4]) + 0.01))


def test_yogi_moves_the_second_moment_by_the_square_towards_it() -> None:
    # D^2 = 0.01, 0.36, 0.04 against v = 0.04, 0.04, 0.04: down, up, not at all.
    v = yogi_moment(np.full(3, 0.04), np.array([0.01, 0.36, 0.04]), 0.99)
    close(v, [0.0399, 0.0436, 0.04], 1e-15)
    omega, state = adaptive(OMEGA, UPDATES, WEIGHTS, {}, second_moment=yogi_moment, lr=0.1, tau=0.01)
    close(state["v"], [2e-4, 3.7e-3, 5e-4], 1e-9)
    close(omega, [1 + 0.001 / 0.0241421356, 2 + 0.006 / 0.0708276253, 3 - 0.002 / 0.0323606798])


def test_adagrad_hand_computed_over_two_rounds() -> None:
    kw: dict[str, Any] = {"second_moment": adagrad_moment, "lr": 0.1, "beta1": 0.0, "tau": 0.01}
    first, state = adaptive(OMEGA, UPDATES, WEIGHTS, {}, **kw)
    close(state["v"], [0.0101, 0.3601, 0.0401], 1e-7)
    close(first, [1.0904988, 2.0983472, 2.9048751])
    _, state = adaptive(first, UPDATES, WEIGHTS, state, **kw)
    close(state["v"], [0.0201, 0.7201, 0.0801], 1e-7)


@pytest.mark.parametrize("kind", [Adam, Yogi, Adagrad])
def test_adaptive_steps_start_at_tau_squared_and_equal_an_independent_loop(kind: type[Any]) -> None:
    params = kind.Params(lr=0.05, beta1=0.8, tau=0.02)
    step, beta2 = kind(params), getattr(params, "beta2", 0.0)
    omega = random_round(0)[0]
    state = step.init(6)
    assert np.array_equal(state["v"], np.full(6, 0.02**2)) and not state["m"].any()
    m, v, expected = np.zeros(6), np.full(6, 4e-4), omega.astype(np.float64)
    for t in range(6):
        _, updates, weights = random_round(t + 1)
        omega, state = step.optimise(omega, updates, weights, state, settings(t + 1))
        mean = (weights[:, None] * updates).sum(axis=0)
        m = 0.8 * m + 0.2 * mean
        for j in range(6):
            square = mean[j] ** 2
            if kind is Adagrad:
                v[j] += square
            elif kind is Adam:
                v[j] = beta2 * v[j] + (1 - beta2) * square
            elif v[j] > square:
                v[j] -= (1 - beta2) * square
            else:
                v[j] += (1 - beta2) * square
        expected = expected + 0.05 * m / (np.sqrt(v) + 0.02)
        close(omega, expected, 2e-6)


def test_adaptive_defaults() -> None:
    assert AdamParams().model_dump() == {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "tau": 1e-3}
    assert AdagradParams().model_dump() == {"lr": 0.1, "beta1": 0.0, "tau": 1e-3}
    assert Yogi.Params is AdamParams


def test_adaptive_does_not_move_without_an_update() -> None:
    for kind in (Adam, Yogi, Adagrad):
        step = kind(kind.Params())
        omega, _ = step.optimise(OMEGA, np.zeros_like(UPDATES), WEIGHTS, step.init(3), settings())
        assert np.array_equal(omega, OMEGA)
