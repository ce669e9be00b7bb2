"""Views of the target data: drawn anew in each round, and never with labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fl_config.errors import ConfigError
from fl_strategies.weighting.ssa.views import client_views
from tests.fl_strategies.weighting.ssa.linear_round import cohort_of, side_of, ssa


def test_views_and_subsets_are_drawn_anew_each_round() -> None:
    first, second = cohort_of([0, 1, 2, 3]), cohort_of([0, 1, 2, 3], round=2)
    everything = [client_views("FedSSA", cohort, side_of(), 0) for cohort in (first, second)]
    assert not torch.equal(everything[0].bank(0), everything[1].bank(0))
    assert torch.equal(everything[0].bank(0, 1)[2:], everything[0].bank(1))
    assert torch.equal(everything[0].plain(), everything[1].plain())
    few = [client_views("FedSSA", cohort, side_of(), 20).index for cohort in (first, first, second)]
    assert len(set(few[0].tolist())) == 20
    assert torch.equal(few[0], few[1])
    assert not torch.equal(few[0], few[2])


def test_labels_are_refused() -> None:
    with pytest.raises(ConfigError, match="FedSSA must not see labels"):
        ssa().customised(cohort_of([0, 1]), {}, side_of(labels=True))
    bare = replace(side_of(), target=None)
    with pytest.raises(ConfigError, match="unlabelled target data"):
        ssa().customised(cohort_of([0, 1]), {}, bare)
    plain = replace(side_of(), augment=None)
    with pytest.raises(ConfigError, match="no augmentation"):
        ssa().customised(cohort_of([0, 1]), {}, plain)
    with pytest.raises(ConfigError, match="empty"):
        ssa().customised(cohort_of([0, 1]), {}, side_of(samples=0))
