"""Weights by number of examples."""

from __future__ import annotations

from fl_config.params import Params
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.size import Size
from tests.fl_strategies.server_update.drift_cohort import OMEGA, cohort


def test_weights_are_the_shares_of_the_cohort() -> None:
    weights, metrics = Size(Params()).weights(cohort(), OMEGA, ServerResources.nothing(), 1)
    assert weights.tolist() == [0.25, 0.75] and metrics == {}  # 10 and 30 examples, of a population of 80
