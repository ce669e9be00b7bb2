"""FedNova: hand-computed values and degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.server_update.average import average
from fl_strategies.server_update.nova import Nova, nova
from tests.fl_strategies.server_update.optimizer_round import OMEGA, UPDATES, WEIGHTS, close, cohort, random_round


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
