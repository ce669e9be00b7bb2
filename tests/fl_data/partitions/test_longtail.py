"""`longtail:RHO,`: n_c = n_1 RHO^{-(c-1)/(C-1)}, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data.partitions.longtail import longtail_indices


@pytest.mark.parametrize(
    ("held", "rho", "kept"),
    [
        ([100, 100, 100], 100, [100, 10, 1]),
        ([100, 100, 100], 1, [100, 100, 100]),
        ([8, 8, 8, 8], 8, [8, 4, 2, 1]),
        ([100, 3, 100], 100, [100, 3, 1]),  # a class gives what it has
        ([4, 9, 9], 100, [4, 1, 1]),  # 4 / 10 and 4 / 100 are less than the one sample that stays
        ([5], 10, [5]),
    ],
)
def test_counts_by_hand(held: list[int], rho: float, kept: list[int]) -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(held)), held))
    indices = longtail_indices(labels, len(held), rho, np.random.default_rng(0))
    assert np.bincount(labels[indices]).tolist() == kept
    assert (np.diff(indices) > 0).all()


def test_the_generator_chooses_the_samples() -> None:
    labels = np.repeat([0, 1], 50)
    one, again, other = (longtail_indices(labels, 2, 5, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
