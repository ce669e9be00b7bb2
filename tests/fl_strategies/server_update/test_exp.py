"""FedExP: hand-computed values and degenerate cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fl_strategies.round.rows import Summed
from fl_strategies.server_update.base import RoundSettings
from fl_strategies.server_update.exp import Exp, ExpParams, exp
from tests.fl_strategies.server_update.optimizer_round import MEAN, OMEGA, UPDATES, WEIGHTS, close, settings


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


def test_exp_of_a_sum_under_masks_takes_the_mean_of_the_norms_from_the_clients() -> None:
    omega, updates = np.zeros(2, dtype=np.float32), np.array([[1.0, 0.0], [0.0, 3.0]], dtype=np.float32)
    weights = np.array([0.25, 0.75])
    summed: Any = Summed(2, weights, weights @ updates.astype(float), {"squared_norm": 0.25 * 1 + 0.75 * 9})
    for momentum in (0.0, 0.5):
        ours, state = exp(omega, summed, weights, {}, momentum=momentum)
        theirs, expected = exp(omega, updates, weights, {}, momentum=momentum)
        assert ours.tolist() == theirs.tolist() and state["step_size"] == expected["step_size"]
