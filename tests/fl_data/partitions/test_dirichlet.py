"""`dirichlet:BETA`: shares of each class by a Dirichlet."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import label_counts, partition


def test_dirichlet_shares_follow_beta() -> None:
    """Var of a symmetric Dirichlet share is (1/K)(1-1/K)/(K beta + 1)."""
    labels = np.repeat(np.arange(50), 1000)
    counts = label_counts(labels, partition("dirichlet:0.5", labels, 10, 50, 0), 50)
    assert np.var(counts / 1000) == pytest.approx(0.09 / 6, rel=0.2)
