"""Two of four clients in one round, with numbers that are easy to follow by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.server_update.base import RoundSettings

OMEGA = np.array([1, 2], dtype=np.float32)
UPDATES = np.array([[2, 4], [-1, 0]], dtype=np.float32)
WEIGHTS = np.array([0.25, 0.75])
AVERAGED = OMEGA + np.array([0.25 * 2 - 0.75, 1.0])  # (0.75, 3)
EXTRA = np.array([[1, 1], [3, -1]], dtype=np.float32)
Q = np.array([0.5, 1.5])


def settings(**changes: Any) -> RoundSettings:
    base: dict[str, Any] = {"round": 1, "rounds": 1000, "fraction": 0.1, "epochs": 5, "batch_size": 50, "lr": 0.09}
    return RoundSettings(**{**base, "initial_lr": 0.1, **changes})


def cohort(**changes: Any) -> Cohort:
    """Clients 0 and 2 of four; q = (0.5, 1.5)."""
    population = Population({0: 10, 1: 20, 2: 30, "late": 20})
    base: dict[str, Any] = {"round": 1, "ids": [0, 2], "sizes": np.array([10.0, 30.0]), "updates": UPDATES}
    return Cohort(
        **{**base, "population": population, "extras": {"delta_c": EXTRA, "delta_s": EXTRA, "h": EXTRA}, **changes}
    )
