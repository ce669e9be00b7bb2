"""One KL divergence for the discrepancy and for the skew, with the last bit of the two that it replaced."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import label_counts, skew
from fl_data.discrepancy import discrepancy, kl


def counts_of_clients(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    classes = int(random.integers(2, 120))
    counts = random.integers(0, 50, (30, classes)) * (random.random((30, classes)) < random.random())
    counts[3] = 0
    counts[:, 0] += np.arange(30) > 3
    return counts.astype(np.float64)


def old_skew(counts: np.ndarray) -> np.ndarray:
    """The formula of version 0.1, word for word."""
    everyone = counts.sum(0) / max(1.0, counts.sum())
    sizes = counts.sum(1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.tile(everyone, (len(counts), 1)), where=sizes > 0)
    ratio = np.divide(shares, everyone, out=np.ones_like(shares), where=shares > 0)
    return np.maximum(0.0, (shares * np.log(ratio)).sum(1))


def old_discrepancy(counts: np.ndarray) -> float:
    shares = counts / counts.sum()
    goal = np.full(len(shares), 1.0 / len(shares))
    held = shares > 0
    return max(0.0, float((shares[held] * np.log(shares[held] / goal[held])).sum()))


@pytest.mark.parametrize("seed", range(60))
def test_to_the_last_digit(seed: int) -> None:
    counts = counts_of_clients(seed)
    assert skew(counts)["kl"].tobytes() == old_skew(counts).tobytes()
    for row in counts:
        if row.sum():
            assert discrepancy(row) == old_discrepancy(row)


def test_by_hand() -> None:
    assert kl(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([0.25, 0.5, 0.25])) == pytest.approx(
        [0.5 * np.log(2), np.log(4)]
    )


def test_counts_of_numbers_and_of_many_classes() -> None:
    parts = [np.array([0, 1, 2]), np.array([3])]
    assert label_counts(np.linspace(0, 1, 4), parts, 0).tolist() == [[3], [1]]
    assert label_counts(np.zeros((4, 2)), parts, 0).tolist() == [[3, 3], [1, 1]]
    many = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], dtype=np.float32)
    assert label_counts(many, parts, 2).tolist() == [[2, 1], [0, 1]]
