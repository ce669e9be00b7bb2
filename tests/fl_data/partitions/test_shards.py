"""`shards:N`: whole classes where they fit, equal pieces otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import label_counts, partition

BALANCED = np.repeat(np.arange(10), 60)


@pytest.mark.parametrize("seed", range(5))
def test_shards_give_whole_classes_where_they_fit(seed: int) -> None:
    counts = label_counts(BALANCED, partition("shards:2", BALANCED, 5, 10, seed), 10)
    assert sorted(counts[counts > 0].tolist()) == [60] * 10
    assert (counts > 0).sum(1).tolist() == [2] * 5


def test_shards_of_many_clients_are_equal_and_distinct() -> None:
    counts = label_counts(BALANCED, partition("shards:3", BALANCED, 20, 10, 0), 10)
    assert (counts > 0).sum(1).tolist() == [3] * 20
    assert counts.sum(1).tolist() == [30] * 20
