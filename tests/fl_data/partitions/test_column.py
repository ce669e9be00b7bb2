"""`column:NAME`: the clients are the values of a column, by name."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import client_names, partition
from fl_data.dataset import Dataset
from fl_data.partitions.column import client_column

HOSPITAL = np.array(["south", "north", "south", "10", "north", "9", "10", "9"])
LABELS = np.array([0, 1, 0, 1, 0, 1, 0, 1])


def data(column: np.ndarray = HOSPITAL) -> Dataset:
    x = np.zeros((len(column), 2), np.float32)
    labels = np.arange(len(column)) % 2
    return Dataset(
        "toy", "features", x, labels, x, labels, 2, ("no", "yes"), None, None, False, columns={"hospital": column}
    )  # fmt: skip


def test_one_client_per_value_in_order_of_name() -> None:
    assert client_names("column:hospital", data()) == ("10", "9", "north", "south")
    parts = partition("column:hospital", LABELS, 4, 2, 0, columns={"hospital": HOSPITAL})
    assert [part.tolist() for part in parts] == [[3, 6], [5, 7], [1, 4], [0, 2]]
    assert all(part.dtype == np.int64 for part in parts)


def test_the_seed_moves_no_row() -> None:
    one, two = (partition("column:hospital", LABELS, 4, 2, seed, columns={"hospital": HOSPITAL}) for seed in (0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_numbers_and_many_labels_may_be_divided() -> None:
    for labels, classes in ((np.linspace(0, 1, 8), 0), (np.zeros((8, 3)), 3)):
        assert len(partition("column:hospital", labels, 4, classes, 0, columns={"hospital": HOSPITAL})) == 4


def test_longtail_thins_before() -> None:
    owner = np.repeat(["a", "b"], 100)
    labels = np.tile(np.arange(2), 100)
    parts = partition("longtail:10,column:hospital", labels, 2, 2, 0, columns={"hospital": owner})
    chosen = np.concatenate(parts)
    assert np.bincount(labels[chosen]).tolist() == [100, 10]
    assert [set(owner[part]) for part in parts] == [{"a"}, {"b"}]


def test_the_column_of_a_spec() -> None:
    assert client_column("column:hospital") == "hospital"
    assert client_column("longtail:5,column:a:b") == "a:b"
    assert client_column("iid") == ""
    assert client_names("iid", data()) is None


@pytest.mark.parametrize(
    ("spec", "clients", "least", "sentence"),
    [
        ("column:", 4, 2, "another form than column:NAME"),
        ("column: hospital", 4, 2, "without spaces"),
        ("column:ward", 4, 2, "no column 'ward' for the clients"),
        ("column:hospital", 10, 2, "4 clients, but --clients is 10; leave --clients out or set it to 4"),
        ("column:hospital", 4, 3, "'10' has 2 training samples; at least 3 are needed. Lower --min-samples"),
    ],
)
def test_wrong_values_are_sentences(spec: str, clients: int, least: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        partition(spec, LABELS, clients, 2, 0, least, {"hospital": HOSPITAL})
