"""NIID-Bench's two partitions: the published sample counts, the rules by hand, and sentences for what cannot be done."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import label_counts, load, partition

BALANCED = np.repeat(np.arange(10), 60)


def test_capped_gives_the_published_counts_of_fashion_mnist() -> None:
    parts = partition("capped:0.5", load("fashion-mnist").y_train, 10, 10, 42)
    assert [len(part) for part in parts] == [6370, 2405, 6357, 6470, 7449, 6873, 4416, 8072, 4399, 7189]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(60_000))


def test_a_full_client_takes_no_more() -> None:
    for seed in range(20):
        counts = label_counts(BALANCED, partition("capped:0.3", BALANCED, 6, 10, seed), 10)
        before = np.cumsum(counts, axis=1) - counts
        assert not counts[:-1][before[:-1] >= 100].any()
        assert (
            counts[-1][before[-1] >= 100].max(initial=0) <= 1
        )  # the published cut leaves the last client a rounded-off sample
        assert counts.sum(1).min() >= 10
        assert counts.sum() == 600


def test_capped_with_almost_no_mass_for_the_others_still_ends() -> None:
    """With such a BETA all of a draw lies on one client, which may be full; the class goes to the others then."""
    labels = np.repeat(np.arange(4), 1000)
    parts = partition("capped:0.0001", labels, 2, 4, 1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(4000))


@pytest.mark.parametrize("each", [1, 2, 3, 10])
def test_labels_are_those_of_the_rule(each: int) -> None:
    counts = label_counts(BALANCED, partition(f"labels:{each}", BALANCED, 15, 10, 3), 10)
    assert ((counts > 0).sum(1) == each).all()
    assert all(counts[client, client % 10] > 0 for client in range(15))
    assert counts.sum() == 600
    for label in range(10):
        held = counts[:, label][counts[:, label] > 0]
        assert held.max() - held.min() <= 1  # cut evenly among its holders


def test_labels_by_hand() -> None:
    """Three clients and three classes of four samples; the draws of default_rng(0) are written out."""
    generator = np.random.default_rng(0)
    own = []
    for client in range(3):
        second = client
        while second == client:
            second = int(generator.integers(3))
        own.append({client, second})
    counts = label_counts(np.repeat(np.arange(3), 4), partition("labels:2", np.repeat(np.arange(3), 4), 3, 3, 0), 3)
    assert [set(np.flatnonzero(row)) for row in counts] == own


def test_a_class_that_nobody_holds_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        parts = partition("labels:1", BALANCED, 4, 10, 0)
    assert set(BALANCED[np.concatenate(parts)]) == {0, 1, 2, 3}
    assert "no client holds the class 4 (6 such classes)" in caplog.text


def test_they_depend_on_the_seed_alone() -> None:
    for spec in ("labels:2", "capped:0.5"):
        one, again, other = (partition(spec, BALANCED, 5, 10, seed) for seed in (1, 1, 2))
        assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
        assert any(not np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("spec", "clients", "sentence"),
    [
        ("labels:0", 5, "K must be a whole number of 1 or more"),
        ("labels:1.5", 5, "K must be a whole number"),
        ("labels", 5, "another form than labels:K"),
        ("labels:11", 5, "wants 11 different classes for each client, but the data has 10; use a smaller K"),
        ("capped:0", 5, "BETA must be a number above 0"),
        ("capped:x", 5, "BETA must be a number above 0"),
        ("capped:", 5, "another form than capped:BETA"),
        ("capped:0.5", 61, "impossible for 61 clients and 600 samples; use fewer clients"),
        ("capped:0.0001", 50, "in 1000 draws .* use fewer clients or a larger BETA"),
    ],
)
def test_wrong_values_are_sentences(spec: str, clients: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        partition(spec, BALANCED, clients, 10, 0)
