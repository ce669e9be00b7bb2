"""The server optimisers on two clients and three numbers: hand-computed values, oracles, degenerate cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fl_config.errors import ConfigError
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort, Population
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
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep
from fl_strategies.server_update.exp import Exp, ExpParams, exp
from fl_strategies.server_update.momentum import Momentum, MomentumParams, momentum
from fl_strategies.server_update.nova import Nova, nova

OMEGA = np.array([1.0, 2.0, 3.0], dtype=np.float32)
UPDATES = np.array([[0.4, 0.0, -0.8], [0.0, 0.8, 0.0]], dtype=np.float32)
WEIGHTS = np.array([0.25, 0.75])
MEAN = np.array([0.1, 0.6, -0.2])  # 0.25 * first + 0.75 * second


def settings(round: int = 1, lr: float = 0.1) -> RoundSettings:
    return RoundSettings(round=round, rounds=10, fraction=1.0, epochs=1, batch_size=8, lr=lr, initial_lr=0.1)


def cohort(updates: np.ndarray, **metrics: list[float]) -> Cohort:
    m = len(updates)
    numbers = {name: np.array(values, dtype=np.float64) for name, values in metrics.items()}
    population = Population({i: 10 for i in range(m)})
    return Cohort(1, list(range(m)), np.full(m, 10.0), updates, population, metrics=numbers)


def close(actual: np.ndarray, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(actual, np.asarray(expected), rtol=0, atol=tolerance)


def random_round(seed: int, m: int = 4, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed)
    weights = drawn.random(m)
    return (
        drawn.normal(size=d).astype(np.float32),
        drawn.normal(size=(m, d)).astype(np.float32),
        weights / weights.sum(),
    )


# --- momentum ---


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


# --- adaptive ---


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


# --- FedNova ---


def test_nova_hand_computed() -> None:
    # tau_eff = 0.25 * 2 + 0.75 * 10 = 8; scales 4 and 0.8; omega + sum = omega + (0.4, 0.48, -0.8).
    step = Nova(Nova.Params())
    updates = step.normalise(cohort(UPDATES, local_weight=[2, 10]), WEIGHTS)
    close(updates, [[1.6, 0.0, -3.2], [0.0, 0.64, 0.0]])
    close(average(OMEGA, updates, WEIGHTS, {})[0], [1.4, 2.48, 2.2])


def test_nova_with_equal_steps_is_the_average_to_the_bit() -> None:
    omega, updates, weights = random_round(1)
    normalised = nova(updates, weights, np.full(4, 7.0))
    assert np.array_equal(average(omega, normalised, weights, {})[0], average(omega, updates, weights, {})[0])


def test_nova_is_free_of_the_objective_inconsistency_of_the_average() -> None:
    # Constant gradients g_i and K_i steps: Delta_i = -K_i g_i. The direction must be -sum p_i g_i, whatever the K_i.
    gradients, steps = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32), np.array([1.0, 9.0])
    weights = np.array([0.5, 0.5])
    total = (weights[:, None] * nova(-gradients * steps[:, None].astype(np.float32), weights, steps)).sum(axis=0)
    close(total, [-2.5, -2.5])


def test_nova_keeps_a_client_without_steps_where_it_is() -> None:
    updates = np.array([[0.0, 0.0], [1.0, 2.0]], dtype=np.float32)
    close(nova(updates, np.array([0.5, 0.5]), np.array([0.0, 4.0])), [[0.0, 0.0], [0.5, 1.0]])


def test_nova_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="local_weight"):
        Nova(Nova.Params()).normalise(cohort(UPDATES), WEIGHTS)


# --- FedExP ---


def test_exp_hand_computed() -> None:
    # sum p ||Delta||^2 = 0.25 * 0.8 + 0.75 * 0.64 = 0.68; ||D||^2 = 0.41; at eps 0.01 the ratio is 0.68 / 0.84 < 1.
    omega, state = exp(OMEGA, UPDATES, WEIGHTS, {}, eps=0.01)
    close(omega, OMEGA + MEAN)
    assert float(state["step_size"]) == 1.0
    # Nearly opposite updates: 0.5 * 0.5 + 0.5 * 0.34 = 0.42; D = (0, 0.1); 0.42 / (2 (0.01 + 0.01)) = 10.5.
    opposite = np.array([[0.5, 0.5], [-0.5, -0.3]], dtype=np.float32)
    omega, state = exp(OMEGA[:2], opposite, np.array([0.5, 0.5]), {}, eps=0.01)
    assert float(state["step_size"]) == pytest.approx(10.5, rel=1e-6)
    close(omega, [1.0, 3.05])


def test_exp_of_identical_updates_is_one_and_of_orthogonal_ones_half_their_number() -> None:
    same = np.tile(UPDATES[:1], (5, 1))
    assert float(exp(OMEGA, same, np.full(5, 0.2), {}, eps=0.0)[1]["step_size"]) == 1.0
    for m in (2, 3, 8):
        orthogonal = 0.7 * np.eye(m, dtype=np.float32)
        _, state = exp(np.zeros(m, dtype=np.float32), orthogonal, np.full(m, 1 / m), {}, eps=0.0)
        assert float(state["step_size"]) == pytest.approx(m / 2, rel=1e-12)


def test_exp_without_any_movement_stays() -> None:
    for eps in (0.0, 1e-3):
        omega, state = exp(OMEGA, np.zeros_like(UPDATES), WEIGHTS, {}, eps=eps)
        assert np.array_equal(omega, OMEGA) and float(state["step_size"]) == 1.0


def test_exp_flags_scale_and_decay_eps() -> None:
    updates, weights = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32), np.array([0.5, 0.5])
    omega = OMEGA[:2]

    def size(t: RoundSettings, **kw: Any) -> float:
        # D = 0, so that the step size is 1 / (2 eps').
        return float(Exp(ExpParams(eps=0.01, **kw)).optimise(omega, updates, weights, {}, t)[1]["step_size"])

    later = settings(round=3, lr=0.05)
    assert size(later) == pytest.approx(50.0)
    assert size(later, eps_scale_m=True) == pytest.approx(25.0)
    assert size(later, eps_decay=True) == pytest.approx(200.0)
    assert size(settings(), eps_decay=True) == pytest.approx(50.0)


def test_exp_evaluates_the_mean_of_the_last_two_models_but_goes_on_from_the_last() -> None:
    step = Exp(ExpParams(eval_average=True))
    assert np.array_equal(step.evaluated(OMEGA, step.init(3)), OMEGA)
    omega, state = step.optimise(OMEGA, UPDATES, WEIGHTS, step.init(3), settings())
    close(omega, OMEGA + MEAN)
    close(step.evaluated(omega, state), OMEGA + MEAN / 2)
    assert step.metrics(state) == {"exp/step_size": 1.0}
    plain = Exp(ExpParams())
    omega, state = plain.optimise(OMEGA, UPDATES, WEIGHTS, {}, settings())
    assert "previous" not in state and np.array_equal(plain.evaluated(omega, state), omega)


def test_exp_with_momentum_hand_computed() -> None:
    # Round 1: 0.68 / (2 (0.41 + 0.01)) = 0.8095238, below 1. Round 2: v = 1.9 D, n = 0.68 + 0.45 * 0.68 = 0.986.
    step = Exp(ExpParams(eps=0.01, momentum=0.9))
    omega, state = step.optimise(OMEGA, UPDATES, WEIGHTS, {}, settings())
    assert float(state["step_size"]) == pytest.approx(0.8095238, abs=1e-6)
    close(omega, OMEGA + 0.8095238 * MEAN)
    following, state = step.optimise(omega, UPDATES, WEIGHTS, state, settings(2))
    assert float(state["step_size"]) == pytest.approx(0.986 / (2 * (3.61 * 0.41 + 0.01)), rel=1e-6)
    close(following, omega + float(state["step_size"]) * 1.9 * MEAN)


# --- all ---

OPTIMISERS: list[ServerStep] = [
    Momentum(MomentumParams()), Adam(AdamParams()), Yogi(AdamParams()), Adagrad(AdagradParams()),
    Exp(ExpParams()), Exp(ExpParams(eval_average=True, momentum=0.9)),
]  # fmt: skip


@pytest.mark.parametrize("step", OPTIMISERS, ids=lambda step: type(step).__name__)
def test_optimisers_change_neither_their_inputs_nor_their_old_state(step: ServerStep) -> None:
    omega, updates, weights = random_round(5)
    _, state = step.optimise(omega, updates, weights, step.init(6), settings())
    before = {name: value.copy() for name, value in state.items()}
    inputs = (omega.copy(), updates.copy(), weights.copy())
    first = step.optimise(omega, updates, weights, state, settings(2))
    again = step.optimise(omega, updates, weights, state, settings(2))
    assert np.array_equal(first[0], again[0]) and first[0].dtype == np.float32
    for given, copy in zip((omega, updates, weights), inputs, strict=True):
        assert np.array_equal(given, copy)
    assert all(np.array_equal(state[name], value) for name, value in before.items())


def test_parameters_have_descriptions_and_refuse_values_without_meaning() -> None:
    for kind in (MomentumParams, AdamParams, AdagradParams, ExpParams):
        assert all(field.description for field in kind.model_fields.values())
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (MomentumParams, {"beta": 1.0}),
        (MomentumParams, {"lr": 0}),
        (MomentumParams, {"dampening": 0.5, "nesterov": True}),
        (AdamParams, {"beta2": 1.0}),
        (AdamParams, {"tau": 0}),
        (AdagradParams, {"beta2": 0.9}),
        (ExpParams, {"eps": -1}),
    ]
    for kind, values in wrong:
        with pytest.raises(ValidationError):
            kind(**values)
