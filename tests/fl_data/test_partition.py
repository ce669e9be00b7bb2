"""Every partition: disjoint, complete, large enough, repeatable, and skewed the way its name says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_data import check_partition_spec, label_counts, partition

BALANCED = np.repeat(np.arange(10), 60)

positive = st.sampled_from([0.001, 0.05, 0.3, 1.0, 10.0, 1000.0])
schemes = st.one_of(
    st.just("iid"),
    positive.map(lambda beta: f"dirichlet:{beta}"),
    positive.map(lambda alpha: f"lda:{alpha}"),
    st.integers(1, 4).map(lambda classes: f"shards:{classes}"),
    st.lists(positive, min_size=1, max_size=4).map(lambda alphas: "mixed:" + ",".join(map(str, alphas))),
    st.tuples(st.integers(1, 8), st.integers(0, 3)).map(lambda pair: f"biased:{pair[0]}:{pair[1]}"),
)
label_arrays = st.tuples(
    st.lists(st.integers(0, 60), min_size=2, max_size=6).filter(lambda counts: sum(counts) > 4),
    st.sampled_from([np.int64, np.uint8, np.float32]),
    st.integers(0, 99),
).map(lambda t: np.random.default_rng(t[2]).permutation(np.repeat(np.arange(len(t[0])), t[0])).astype(t[1]))


def attempt(
    spec: str, labels: np.ndarray, clients: int, classes: int, seed: int
) -> tuple[list[np.ndarray] | None, str]:
    try:
        return partition(spec, labels, clients, classes, seed), ""
    except ConfigError as error:
        return None, str(error)


@settings(max_examples=200, deadline=2000)
@given(
    scheme=schemes,
    labels=label_arrays,
    clients=st.integers(1, 12),
    longtail=st.sampled_from(["", "longtail:1,", "longtail:20,"]),
    seed=st.integers(0, 9),
)
def test_disjoint_complete_and_large_enough(
    scheme: str, labels: np.ndarray, clients: int, longtail: str, seed: int
) -> None:
    if scheme.startswith("biased"):
        clients = sum(map(int, scheme.split(":")[1:]))
    classes = int(labels.max()) + 1
    parts, refusal = attempt(longtail + scheme, labels, clients, classes, seed)
    if parts is None:
        # Refusing is right only with a reason in numbers.
        assert any(character.isdigit() for character in refusal)
        assert refusal.endswith(".")
        assert not scheme.startswith(("iid", "dirichlet", "lda")) or len(labels) < 2 * clients or longtail
        return
    flat = np.concatenate(parts)
    assert len(parts) == clients
    assert len(np.unique(flat)) == len(flat)
    assert all(len(part) >= 2 and part.dtype == np.int64 and (np.diff(part) > 0).all() for part in parts)
    counts = np.bincount(labels.astype(int), minlength=classes)
    if not longtail:
        assert len(flat) == len(labels)
    else:
        rho = float(longtail.split(":")[1].rstrip(","))
        wanted = [counts[0] * rho ** (-c / max(1, classes - 1)) for c in range(classes)]
        kept = np.bincount(labels[flat].astype(int), minlength=classes)
        expected = [min(n, max(1, int(w + 1e-9))) for n, w in zip(counts, wanted, strict=True)]
        assert kept.tolist() == expected
    again = partition(longtail + scheme, labels, clients, classes, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_the_seed_changes_the_partition() -> None:
    for spec in ("iid", "dirichlet:0.5", "lda:0.5", "shards:2", "mixed:1,0.1"):
        one, two = (partition(spec, BALANCED, 5, 10, seed) for seed in (0, 1))
        assert any(not np.array_equal(a, b) for a, b in zip(one, two, strict=True)), spec


def test_iid_is_iid_on_sorted_labels() -> None:
    labels = np.repeat(np.arange(10), 1000)
    counts = label_counts(labels, partition("iid", labels, 10, 10, 0), 10)
    # Hypergeometric with mean 100 and deviation 9: seven deviations off would not be chance.
    assert np.abs(counts - 100).max() < 63
    assert counts.sum(1).tolist() == [1000] * 10


def test_biased_is_feddiscos_niid_2() -> None:
    labels = np.repeat(np.arange(10), 600)
    counts = label_counts(labels, partition("biased:5:1", labels, 6, 10, 3), 10)
    assert counts.sum(1).tolist() == [1000] * 6
    assert (counts[:5] > 0).sum(1).tolist() == [2] * 5
    assert counts[5].tolist() == [100] * 10
    many = label_counts(labels, partition("biased:50:10", labels, 60, 10, 3), 10)
    assert (many[:50] > 0).sum(1).tolist() == [2] * 50
    assert (many[50:] == 10).all()


def test_dirichlet_shares_follow_beta() -> None:
    """Var of a symmetric Dirichlet share is (1/K)(1-1/K)/(K beta + 1)."""
    labels = np.repeat(np.arange(50), 1000)
    counts = label_counts(labels, partition("dirichlet:0.5", labels, 10, 50, 0), 50)
    assert np.var(counts / 1000) == pytest.approx(0.09 / 6, rel=0.2)


def test_a_partition_file(tmp_path: Path) -> None:
    file = tmp_path / "parts.json"
    file.write_text(json.dumps([[5, 1, 3], [0, 2]]))
    parts = partition(f"file:{file}", np.zeros(6), 2, 1, 0)
    assert [part.tolist() for part in parts] == [[1, 3, 5], [0, 2]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[[0, 1], [1, 2]]", "sample 1 to 2 places"),
        ("[[0, 1], [2, 6]]", "0..5"),
        ("[[0, 1], [-1, 3]]", "0..5"),
        ("[[0, 1]]", "1 clients"),
        ("[[0, 1], [2]]", "client 1 1 samples"),
        ("[[0, 1], [2.0, 3.0]]", "whole numbers"),
        ('{"a": 1}', "whole numbers"),
        ("[[0, 1], ", "JSON"),
    ],
)
def test_a_wrong_partition_file(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "parts.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=sentence):
        partition(f"file:{file}", np.zeros(6), 2, 1, 0)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("dirichelt:0.5", "did you mean dirichlet:BETA"),
        ("zzzz", "known are iid"),
        ("dirichlet", "form"),
        ("dirichlet:0", "above 0"),
        ("dirichlet:nan", "above 0"),
        ("lda:-1", "above 0"),
        ("lda:a", "above 0"),
        ("iid:3", "form"),
        ("iid:", "form"),
        ("shards:1.5", "whole"),
        ("shards:0", "1 or more"),
        ("biased:5", "biased:B:U"),
        ("biased:0:3", "B must be"),
        ("mixed:1,,2", "ALPHA"),
        ("longtail:50", "does not divide"),
        ("longtail:0.5,iid", "RHO"),
        ("longtail:50,longtail:2,iid", "unknown"),
        ("file:/nowhere/at/all.json", "exists"),
        ("", "unknown"),
    ],
)
def test_wrong_specs_are_sentences(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_partition_spec(spec)


@pytest.mark.parametrize(
    ("spec", "clients", "sentence"),
    [
        ("iid", 5000, "10,000 samples, but there are 600"),
        ("shards:1", 5, "5 clients with 1 classes each hold at most 5 of 10"),
        ("shards:11", 5, "11 classes a client, but the data has 10"),
        ("biased:5:1", 7, "describes 6 clients, but --clients is 7"),
        ("biased:2:0", 2, "cannot hold 10 classes"),
        ("mixed:1,2,3", 2, "3 groups but there are 2"),
        ("iid", 0, "--clients"),
    ],
)
def test_impossible_numbers_are_sentences(spec: str, clients: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        partition(spec, BALANCED, clients, 10, 0)
