"""Equal weights, whatever the sizes."""

from __future__ import annotations

import numpy as np

from fl_config.params import Params
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.uniform import Uniform
from tests.fl_strategies.server_update.drift_cohort import cohort

KEPT = {"sum:kept": np.array([4, 2])}


def test_everybody_who_replied_counts_the_same() -> None:
    weights, state, metrics = Uniform(Params()).weights(cohort(), KEPT, ServerResources.nothing())
    assert weights.tolist() == [0.5, 0.5] and metrics == {}
    assert state is KEPT  # what is not its own is handed on
