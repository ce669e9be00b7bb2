"""What holds for every weighting that asks the clients' models: no labels, and nothing for a client that diverged."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch

from fl_config.errors import ConfigError
from fl_strategies.weighting.confidence import Confidence, ConfidenceParams
from fl_strategies.weighting.similarity import Similarity, SimilarityParams
from tests.fl_strategies.weighting.two_points import STEADY, SWAPPED, cohort_of, side


@pytest.mark.parametrize("rule", [Similarity(SimilarityParams()), Confidence(ConfidenceParams())])
def test_diverged_clients_and_labels(rule: Any) -> None:
    weights, _, _ = rule.weights(cohort_of(SWAPPED, [np.inf] * 4, STEADY), {}, side())
    assert weights[1] == 0
    assert weights.sum() == pytest.approx(1)
    nobody, _, _ = rule.weights(cohort_of([np.inf] * 4, [np.inf] * 4), {}, side())
    np.testing.assert_allclose(nobody, [0.5, 0.5])
    labelled = side()
    cast(Any, labelled.target).y = torch.zeros(2)
    with pytest.raises(ConfigError, match="must not see labels"):
        rule.weights(cohort_of(SWAPPED, STEADY), {}, labelled)
    assert rule.needs_target
