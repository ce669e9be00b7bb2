"""What a weighting remembers of the whole population, by the order of clients."""

from __future__ import annotations

import numpy as np
import pytest

from fl_strategies.weighting.remembered import recall
from tests.fl_strategies.server_update.drift_cohort import cohort


def test_what_was_kept_is_recalled_as_a_copy() -> None:
    state = {"key": np.array([1.0, 2.0, 3.0, 4.0])}
    recalled = recall(state, "key", cohort(), 0.25)
    recalled += 1
    assert state["key"].tolist() == [1, 2, 3, 4] and recalled.tolist() == [2, 3, 4, 5]
    assert recall({}, "key", cohort(), 0.25).tolist() == [0.25] * 4


def test_another_population_starts_anew_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "fedloom"):
        assert recall({"key": np.ones(3)}, "key", cohort(), 0.5).tolist() == [0.5] * 4
    assert "key was kept for 3 clients, now there are 4: starting anew." in caplog.text
