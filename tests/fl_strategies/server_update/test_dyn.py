"""The server's half of FedDyn, with numbers worked out by hand."""

from __future__ import annotations

import numpy as np

from fl_strategies.server_update.dyn import dyn
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, OMEGA, UPDATES, WEIGHTS


def test_dyn_adds_the_mean_memory_of_the_whole_population() -> None:
    omega, state = dyn(OMEGA, UPDATES, WEIGHTS, {"H": np.array([1.0, -2.0])}, num_clients=4)
    np.testing.assert_allclose(state["H"], [2, 2])
    np.testing.assert_allclose(omega, AVERAGED + np.array([2, 2]) / 4)
    assert omega.dtype == np.float32 and state["H"].dtype == np.float64
