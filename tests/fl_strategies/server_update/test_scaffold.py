"""The server's half of SCAFFOLD, with numbers worked out by hand."""

from __future__ import annotations

import numpy as np

from fl_strategies.server_update.scaffold import scaffold
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, EXTRA, OMEGA, UPDATES, WEIGHTS, Q


def test_scaffold_moves_c_by_the_population_mean() -> None:
    state = {"c": np.array([1.0, 1.0])}
    omega, plain = scaffold(OMEGA, UPDATES, WEIGHTS, state, delta_c=EXTRA, num_clients=4)
    _, scaled = scaffold(OMEGA, UPDATES, WEIGHTS, state, delta_c=EXTRA, num_clients=4, relative_sizes=Q)
    np.testing.assert_allclose(omega, AVERAGED)
    np.testing.assert_allclose(plain["c"], [2, 1])
    np.testing.assert_allclose(scaled["c"], [1 + (0.5 + 4.5) / 4, 1 + (0.5 - 1.5) / 4])
