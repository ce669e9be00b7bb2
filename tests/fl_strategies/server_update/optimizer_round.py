"""Two clients and three numbers, and rounds of random ones, for the tests of the server optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.server_update.base import RoundSettings

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
