"""`drawn:SIZE:BETA`: a client is a function of (seed, number), computed when asked for."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import partition, skew
from fl_data.partitions.drawn import Drawn

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 500))


def drawn(spec: str, labels: np.ndarray, clients: int, classes: int = 10, seed: int = 0) -> Drawn:
    parts = partition(spec, labels, clients, classes, seed)
    assert isinstance(parts, Drawn)
    return parts


def test_a_client_is_the_same_however_many_there_are() -> None:
    few, many, other = (
        drawn("drawn:50:0.3", LABELS, 10),
        drawn("drawn:50:0.3", LABELS, 10**6),
        drawn("drawn:50:0.3", LABELS, 10, seed=1),
    )
    for client in (0, 3, 9):
        assert np.array_equal(few[client], many[client])
        assert not np.array_equal(few[client], other[client])
    assert not np.array_equal(few[0], few[1])
    assert np.array_equal(many[-1], many[999_999])
    assert [part.tolist() for part in few[7:]] == [few[client].tolist() for client in (7, 8, 9)]


def test_a_part_has_its_size_no_sample_twice_and_the_counts_that_are_told() -> None:
    parts = drawn("drawn:50:0.3", LABELS, 100)
    for client, part in enumerate(parts):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
        assert len(part) == 50
        assert np.array_equal(np.bincount(LABELS[part], minlength=10), parts.counts(client))
    assert parts.sizes().tolist() == [50] * 100


def test_beta_makes_the_skew() -> None:
    kl = [
        skew(np.stack([drawn(f"drawn:50:{beta}", LABELS, 200).counts(client) for client in range(200)]))["mean_kl"]
        for beta in (100, 1, 0.1)
    ]
    assert kl[0] < 0.15 < kl[1] < kl[2]


def test_a_class_that_runs_out_is_made_up_for_by_the_others() -> None:
    labels = np.repeat(np.arange(3), [5, 60, 100])
    for part in drawn("drawn:150:0.01", labels, 30, 3):
        assert len(np.unique(part)) == 150
    whole = drawn("drawn:165:0.01", labels, 1, 3)
    assert whole[0].tolist() == list(range(165))


def test_a_million_clients_cost_nothing_until_asked() -> None:
    tracemalloc.start()
    start = time.process_time()
    parts = drawn("drawn:50:0.3", LABELS, 10**6)
    chosen = [parts[client] for client in range(0, 10**6, 10_000)]
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(parts) == 10**6
    assert len(chosen) == 100
    assert peak < 2e6
    assert seconds < 2


def test_longtail_thins_before() -> None:
    parts = drawn("longtail:50,drawn:20:1", LABELS, 300)
    seen = np.unique(np.concatenate(list(parts)))
    assert np.bincount(LABELS[seen], minlength=10)[9] <= 10


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("drawn:50", "another form than drawn:SIZE:BETA, as in drawn:50:0.3"),
        ("drawn:50:0.3:1", "another form"),
        ("drawn:0:0.3", "SIZE must be a whole number of 1 or more"),
        ("drawn:2.5:0.3", "SIZE must be a whole number"),
        ("drawn:50:0", "BETA must be a number above 0"),
        ("drawn:1:0.3", "--min-samples is 2; use a larger SIZE"),
        ("drawn:5001:0.3", "wants 5,001 samples for each client, but there are 5,000"),
    ],
)
def test_wrong_values_are_sentences(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        partition(spec, LABELS, 10, 10, 0)


def test_a_client_that_does_not_exist() -> None:
    with pytest.raises(IndexError, match=r"no client 10; the clients are 0\.\.9"):
        drawn("drawn:50:0.3", LABELS, 10)[10]
