"""What all partitions share: disjoint, complete, large enough, repeatable; the bits of earlier versions; samples without classes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_config.options import Options
from fl_data import partition
from fl_data.partitions import SCHEMES, Argument, Parts, Request, forms, scheme
from fl_data.partitions.schemes import parse

LABELS = np.random.default_rng(3).permutation(np.repeat(np.arange(6), [60, 30, 40, 10, 25, 70]))


@pytest.mark.parametrize(
    ("spec", "clients", "digest"),
    [
        ("iid", 7, "cdd23e5201e1997a"),
        ("dirichlet:0.3", 7, "d897fd3aab736f17"),
        ("lda:0.3", 7, "06a84d5d65e96e98"),
        ("shards:2", 7, "3f0e2759021efab8"),
        ("biased:5:2", 7, "b7ffe9418f105861"),
        ("mixed:10,1,0.1", 7, "f74b52f08bb35cfa"),
        ("longtail:5,lda:1", 4, "ce05a55d6fedb549"),
        ("longtail:5,dirichlet:0.1", 6, "2b820f09f2dcb31b"),
    ],
)
def test_the_index_lists_of_version_0_1(spec: str, clients: int, digest: str) -> None:
    """Another digest means that every published run with this partition is another run."""
    found = hashlib.sha256()
    for part in partition(spec, LABELS, clients, 6, 11, 3):
        found.update(part.tobytes() + b"|")
    assert found.hexdigest()[:16] == digest


@pytest.mark.parametrize(("labels", "classes"), [(np.linspace(0, 1, 40, dtype=np.float32), 0), (np.ones((40, 3)), 3)])
def test_samples_without_a_class_are_divided_by_what_needs_none(labels: np.ndarray, classes: int) -> None:
    for spec in ("iid", "quantity:1"):
        assert sorted(np.concatenate(partition(spec, labels, 4, classes, 0)).tolist()) == list(range(40))
    for spec in (
        "dirichlet:0.5",
        "lda:1",
        "shards:2",
        "biased:3:1",
        "mixed:1,2",
        "labels:2",
        "capped:1",
        "drawn:5:1",
        "longtail:5,iid",
    ):
        with pytest.raises(
            ConfigError, match="divides by class, but a sample here has no single class; use iid, column:NAME"
        ):
            partition(spec, labels, 4, classes, 0)


def test_the_help_text_names_every_partition() -> None:
    told = Options.model_fields["partition"].description
    assert told is not None
    assert [form for form in forms() if form not in told] == []
    assert forms()[0] == "iid"


def test_a_partition_of_ones_own_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fl_data.partitions.schemes.SCHEMES", dict(SCHEMES))

    @scheme("turns:STEP", "every STEP-th sample", Argument("STEP", at_least=1, whole=True), by_class=False)
    def turns(ask: Request) -> Parts:
        place = np.arange(len(ask.labels)) // int(ask.values[0]) % ask.clients
        return [np.flatnonzero(place == client) for client in range(ask.clients)]

    assert [part.tolist() for part in partition("turns:2", np.zeros(8), 2, 1, 0)] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    with pytest.raises(ConfigError, match="STEP must be a whole number of 1 or more, not '0'"):
        parse("turns:0")
    with pytest.raises(ConfigError, match="two partitions called 'iid'"):
        scheme("iid", "again")(turns)


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


@pytest.mark.parametrize("spec", ["iid", "dirichlet:0.3", "shards:2", "longtail:5,lda:1"])
def test_a_file_for_testing_only_cannot_be_divided(spec: str) -> None:
    with pytest.raises(ConfigError, match="no training samples that could be divided .* --partition private"):
        partition(spec, LABELS[:0], 3, 6, 11, 3)
