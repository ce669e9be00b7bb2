"""`lda:ALPHA` and `mixed:ALPHA,...`: shares of equal size with class mixes of their own."""

from __future__ import annotations

import numpy as np

from fl_data import label_counts, partition, skew


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
