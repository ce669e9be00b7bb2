"""What all partitions share: the bits of earlier versions, samples without classes, and the list of what there is."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

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
