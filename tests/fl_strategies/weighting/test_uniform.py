"""Equal weights, whatever the sizes."""

from __future__ import annotations

from fl_config.params import Params
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.uniform import Uniform
from tests.fl_strategies.server_update.drift_cohort import OMEGA, cohort


def test_everybody_who_replied_counts_the_same() -> None:
    weights, metrics = Uniform(Params()).weights(cohort(), OMEGA, ServerResources.nothing(), 1)
    assert weights.tolist() == [0.5, 0.5] and metrics == {}
