"""Weights by number of examples."""

from __future__ import annotations

import numpy as np

from fl_config.params import Params
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.size import Size
from tests.fl_strategies.server_update.drift_cohort import cohort

KEPT = {"sum:kept": np.array([4, 2])}


def test_weights_are_the_shares_of_the_cohort() -> None:
    weights, state, metrics = Size(Params()).weights(cohort(), KEPT, ServerResources.nothing())
    assert weights.tolist() == [0.25, 0.75] and metrics == {}  # 10 and 30 examples, of a population of 80
    assert state is KEPT  # what is not its own is handed on
