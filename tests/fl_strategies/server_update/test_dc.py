"""The server's half of FedDC, and of FedSSG beside it, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from clients.objectives.dc import DcParams
from fl_strategies.server_update.dc import Dc, dc
from fl_strategies.server_update.ssg import ssg
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, EXTRA, OMEGA, UPDATES, WEIGHTS, Q, cohort, settings


def test_dc_and_ssg_by_hand() -> None:
    state = {"H": np.array([1.0, -2.0]), "s": np.array([1.0, 1.0])}
    keywords: dict[str, Any] = {"delta_s": EXTRA, "relative_sizes": Q, "num_clients": 4}
    omega, new = dc(OMEGA, UPDATES, WEIGHTS, state, **keywords)
    np.testing.assert_allclose(new["H"], [2, 2])
    np.testing.assert_allclose(new["s"], [2.25, 0.75])
    np.testing.assert_allclose(omega, AVERAGED + 0.5)
    omega, new = ssg(OMEGA, UPDATES, WEIGHTS, state, gates=np.array([1.5, 2.0]), **keywords)
    np.testing.assert_allclose(new["H"], [1 + 3 - 2, -2 + 6])
    np.testing.assert_allclose(new["s"], [2.25, 0.75])
    np.testing.assert_allclose(omega, AVERAGED + np.array([0.5, 1.0]))
    omega, new = ssg(OMEGA, UPDATES, WEIGHTS, state, gates=np.array([1.5, 2.0]), memories=EXTRA, num_clients=4)
    np.testing.assert_allclose(omega, AVERAGED + np.array([2, 0]))  # uniform over the cohort, whatever the weights
    np.testing.assert_allclose(new["s"], state["s"])


def test_steps_use_the_sizes_that_the_clients_were_told() -> None:
    step, wrong = Dc(DcParams()), cohort(sizes=np.array([999.0, 1.0]))
    _, state = step.drift(OMEGA, OMEGA, wrong, step.init(2), settings())
    np.testing.assert_allclose(state["s"], (0.5 * EXTRA[0] + 1.5 * EXTRA[1]) / 4)
