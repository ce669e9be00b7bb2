"""`quantity:BETA`: sizes by a Dirichlet, the same classes for all."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import label_counts, partition

LABELS = np.repeat(np.arange(5), 2000)


def test_sizes_vary_and_classes_do_not() -> None:
    parts = partition("quantity:1", LABELS, 8, 5, 0)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(10_000))
    counts = label_counts(LABELS, parts, 5)
    sizes = counts.sum(1)
    assert sizes.max() > 3 * sizes.min()
    large = counts[sizes > 500]
    assert np.abs(large / large.sum(1, keepdims=True) - 0.2).max() < 0.07  # four deviations of a share at 500 samples


def test_sizes_follow_beta() -> None:
    """Var of a symmetric Dirichlet share is (1/K)(1-1/K)/(K beta + 1)."""
    shares = np.concatenate(
        [[len(part) for part in partition("quantity:2", LABELS, 10, 5, seed)] for seed in range(40)]
    )
    assert np.var(shares / 10_000) == pytest.approx(0.09 / 21, rel=0.25)
    even = [len(part) for part in partition("quantity:1000000", LABELS, 10, 5, 0)]
    assert max(even) - min(even) < 20


def test_the_minimum_holds_and_numbers_need_no_classes() -> None:
    parts = partition("quantity:0.01", np.linspace(0, 1, 300, dtype=np.float32), 20, 0, 0, min_samples=5)
    assert min(map(len, parts)) == 5
    assert sum(map(len, parts)) == 300


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [("quantity:0", "above 0"), ("quantity:-1", "above 0"), ("quantity", "form than quantity:BETA")],
)
def test_wrong_values_are_sentences(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        partition(spec, LABELS, 5, 5, 0)
