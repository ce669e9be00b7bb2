"""The server's half of FedVRA, with numbers worked out by hand."""

from __future__ import annotations

import numpy as np

from fl_strategies.server_update.vra import vra
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, OMEGA, UPDATES, WEIGHTS


def test_vra_divides_the_dual_variables() -> None:
    omega, state = vra(OMEGA, UPDATES, WEIGHTS, {"Lambda": np.zeros(2)}, num_clients=4, gamma=0.1, a=7, d=10)
    np.testing.assert_allclose(state["Lambda"], [0.7, 2.8])
    np.testing.assert_allclose(omega, AVERAGED + np.array([0.7, 2.8]) / 40, rtol=1e-6)
