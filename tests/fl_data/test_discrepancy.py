"""The discrepancy of a client's classes by hand-computed numbers, and one KL divergence for it and for the skew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_data import skew
from fl_data.discrepancy import discrepancy, kl, target_distribution

METRICS = ["kl", "l1", "l2", "cosine"]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("kl", math.log(2)), ("l1", 1.0), ("l2", 0.5), ("cosine", 1 - 1 / math.sqrt(2))],
)
def test_half_of_the_classes(metric: str, expected: float) -> None:
    # D = (1/2, 1/2, 0, 0) against T = 1/4: KL = log 2, |D-T|_1 = 4/4, |D-T|_2 = sqrt(4/16), cos = (1/4)/(sqrt(1/2)/2)
    assert discrepancy([50, 50, 0, 0], metric) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_between_equal_distributions(metric: str) -> None:
    assert discrepancy([7, 7, 7], metric) == pytest.approx(0, abs=1e-12)
    assert discrepancy([10, 30, 60], metric, [0.1, 0.3, 0.6]) == pytest.approx(0, abs=1e-12)


def test_kl_with_a_target() -> None:
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.3)
    assert discrepancy([3, 1, 0], "kl", [0.5, 0.3, 0.2]) == pytest.approx(expected, abs=1e-12)


def test_one_class_is_log_of_the_number_of_classes() -> None:
    assert discrepancy([0, 0, 9, 0, 0]) == pytest.approx(math.log(5), abs=1e-12)


@given(st.lists(st.integers(0, 500), min_size=2, max_size=12).filter(any), st.sampled_from(METRICS), st.integers(1, 50))
def test_not_negative_and_independent_of_the_amount(counts: list[int], metric: str, factor: int) -> None:
    value = discrepancy(counts, metric)
    assert value >= 0
    assert discrepancy(np.array(counts) * factor, metric) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "target", "words"),
    [
        ([], None, "one number per class"),
        ([0, 0], None, "All class counts are 0"),
        ([1, -1], None, "not negative"),
        ([1, math.nan], None, "finite"),
        ([1, 2], [0.2, 0.3, 0.5], "each of the 2 classes"),
        ([1, 2], [0.5, 0.6], "sum 1"),
        ([1, 2], [-0.5, 1.5], "sum 1"),
        ([1, 2], [1.0, 0.0], "infinite"),
    ],
)
def test_wrong_inputs_are_sentences(counts: list[float], target: list[float] | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        discrepancy(counts, "kl", target)


def test_unknown_metric() -> None:
    with pytest.raises(ConfigError, match="kl, l1, l2, cosine"):
        discrepancy([1, 2], "hellinger")


def test_a_class_without_target_is_finite_for_the_norms() -> None:
    assert discrepancy([1, 1], "l1", [1.0, 0.0]) == pytest.approx(1.0)


def test_target_from_an_option() -> None:
    assert target_distribution("uniform") is None
    given = target_distribution("0.5, 0.25,0.25")
    assert given is not None
    assert given.tolist() == [0.5, 0.25, 0.25]
    with pytest.raises(ConfigError, match="secure sum"):
        target_distribution("global")
    with pytest.raises(ConfigError, match="comma list"):
        target_distribution("half")
    with pytest.raises(ConfigError, match="sum 1"):
        target_distribution("0.5,0.1")


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
