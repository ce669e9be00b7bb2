"""How samples are dealt: whole classes in shards, and mixes of classes in shares of equal size."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import label_counts, partition, skew

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


def test_lda_is_equal_in_size_and_skewed_by_alpha() -> None:
    labels = np.repeat(np.arange(10), 500)
    kl = []
    for alpha in (1000, 1, 0.1):
        counts = label_counts(labels, partition(f"lda:{alpha}", labels, 20, 10, 0), 10)
        assert counts.sum(1).tolist() == [250] * 20
        kl.append(skew(counts)["mean_kl"])
    assert kl[0] < 0.05 < kl[1] < kl[2]


def test_mixed_has_one_alpha_a_group() -> None:
    labels = np.repeat(np.arange(10), 800)
    counts = label_counts(labels, partition("mixed:1000,1,0.5,0.1", labels, 40, 10, 0), 10)
    groups = skew(counts)["kl"].reshape(4, 10).mean(1)
    assert (np.diff(groups) > 0).all()
    assert groups[0] < 0.1
