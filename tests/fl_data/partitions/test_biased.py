"""`biased:B:U`: FedDisco's NIID-2."""

from __future__ import annotations

import numpy as np

from fl_data import label_counts, partition


def test_biased_is_feddiscos_niid_2() -> None:
    labels = np.repeat(np.arange(10), 600)
    counts = label_counts(labels, partition("biased:5:1", labels, 6, 10, 3), 10)
    assert counts.sum(1).tolist() == [1000] * 6
    assert (counts[:5] > 0).sum(1).tolist() == [2] * 5
    assert counts[5].tolist() == [100] * 10
    many = label_counts(labels, partition("biased:50:10", labels, 60, 10, 3), 10)
    assert (many[:50] > 0).sum(1).tolist() == [2] * 50
    assert (many[50:] == 10).all()
