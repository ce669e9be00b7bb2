"""`iid`: equal parts in random order."""

from __future__ import annotations

import numpy as np

from fl_data import label_counts, partition


def test_iid_is_iid_on_sorted_labels() -> None:
    labels = np.repeat(np.arange(10), 1000)
    counts = label_counts(labels, partition("iid", labels, 10, 10, 0), 10)
    # Hypergeometric with mean 100 and deviation 9: seven deviations off would not be chance.
    assert np.abs(counts - 100).max() < 63
    assert counts.sum(1).tolist() == [1000] * 10
