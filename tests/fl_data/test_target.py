"""Targets of the server and the held-out split of a client, by hand-counted labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import Dataset, check_target_spec, held_out_split, target_indices, target_set


def tiny(test_counts: list[int], name: str = "tiny", names: tuple[str, ...] | None = None) -> Dataset:
    y = np.repeat(np.arange(len(test_counts)), test_counts)
    x = np.arange(2 * len(y), dtype=np.float32).reshape(-1, 2)
    return Dataset(
        name, "features", x, y, x, y, len(test_counts), names or tuple(map(str, range(len(test_counts)))), None, None, False
    )  # fmt: skip


def counts_of(dataset: Dataset, indices: np.ndarray) -> list[int]:
    assert len(np.unique(indices)) == len(indices)
    return np.bincount(dataset.y_test[indices], minlength=dataset.num_classes).tolist()


def test_uniform_is_the_test_set() -> None:
    data = tiny([3, 4])
    assert target_indices("uniform", data, None, 0).tolist() == list(range(7))


def test_skew_of_two_whole_classes_is_all_their_test_samples() -> None:
    data = tiny([10, 10, 10])
    counts = np.array([[60, 0, 60], [0, 60, 0]])
    assert target_indices("skew:0", data, counts, 0).tolist() == [*range(10), *range(20, 30)]


def test_skew_is_the_largest_subset_in_proportion() -> None:
    data = tiny([10, 10, 10, 10])
    counts = np.array([[1, 1, 1, 1], [20, 5, 10, 0]])
    assert counts_of(data, target_indices("skew:1", data, counts, 0)) == [10, 2, 5, 0]
    assert counts_of(tiny([9, 3]), target_indices("skew:0", tiny([9, 3]), np.array([[2, 1]]), 0)) == [6, 3]


def test_imbalanced_follows_the_exponential() -> None:
    data = tiny([100, 100, 100])
    assert counts_of(data, target_indices("imbalanced:100", data, None, 0)) == [100, 10, 1]
    assert counts_of(data, target_indices("imbalanced:1", data, None, 0)) == [100, 100, 100]


def test_targets_repeat_and_depend_on_the_seed() -> None:
    data = tiny([100, 100])
    one, again, other = (target_indices("imbalanced:10", data, None, seed) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_target_set_gives_the_rows_of_the_indices() -> None:
    data = tiny([4, 4])
    x, y = target_set("skew:0", data, np.array([[0, 3]]), 0)
    assert x.tolist() == data.x_test[4:].tolist()
    assert y is not None
    assert y.tolist() == [1] * 4


def test_npz_targets(tmp_path: Path) -> None:
    data = tiny([4, 4])
    np.savez(tmp_path / "bare.npz", x=np.ones((3, 2)))
    x, y = target_set(f"npz:{tmp_path / 'bare.npz'}", data, None, 0)
    assert x.dtype == np.float32
    assert y is None
    np.savez(tmp_path / "full.npz", x_test=np.ones((3, 2)), y_test=[30, 7, 30])
    renamed = tiny([4, 4], "npz:site.npz", ("7", "30"))
    _, y = target_set(f"npz:{tmp_path / 'full.npz'}", renamed, None, 0)
    assert y is not None
    assert y.tolist() == [1, 0, 1]
    with pytest.raises(ConfigError, match="label 7"):
        target_set(f"npz:{tmp_path / 'full.npz'}", data, None, 0)
    np.savez(tmp_path / "wide.npz", x=np.ones((3, 5)))
    with pytest.raises(ConfigError, match=r"shape \(5,\)"):
        target_set(f"npz:{tmp_path / 'wide.npz'}", data, None, 0)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("unifrom", "did you mean uniform"),
        ("skew", "form"),
        ("skew:", "CLIENT must be a client's name or number, not ''"),
        ("imbalanced:0.1", "RHO"),
        ("imbalanced:inf", "RHO"),
        ("uniform:2", "form"),
        ("npz:/nowhere/x.npz", "exists"),
    ],
)
def test_wrong_targets_are_sentences(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_target_spec(spec)


@pytest.mark.parametrize("client", ["a", "-1", "1.5", "²"])
def test_clients_without_names_are_numbers(client: str) -> None:
    with pytest.raises(ConfigError, match="CLIENT must be a client's number, 0 or more, not"):
        check_target_spec(f"skew:{client}", named=False)
    check_target_spec("skew:3", named=False)


def test_a_client_by_its_name_or_its_number() -> None:
    data, counts, names = tiny([10, 10]), np.array([[1, 0], [0, 3]]), ("north", "0")
    assert target_indices("skew:north", data, counts, 0, names).tolist() == list(range(10))
    assert target_indices("skew:1", data, counts, 0, names).tolist() == list(range(10, 20))
    assert target_indices("skew:0", data, counts, 0, names).tolist() == list(range(10, 20))  # a name wins over a number
    with pytest.raises(ConfigError, match="no client south; the clients are north, 0"):
        target_indices("skew:south", data, counts, 0, names)


def test_a_client_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match=r"no client 5; the clients are 0\.\.1"):
        target_indices("skew:5", tiny([2, 2]), np.ones((2, 2)), 0)
    with pytest.raises(ConfigError, match="no sample of that client's classes"):
        target_indices("skew:0", tiny([2, 0]), np.array([[0, 3]]), 0)


def test_held_out_is_stratified_and_disjoint() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    own = np.arange(0, 100)
    train, held = held_out_split(own, labels, 0.2, 0, 3)
    assert sorted([*train, *held]) == own.tolist()
    assert len(held) == 20
    assert np.abs(np.bincount(labels[held], minlength=3) - [10, 6, 4]).max() <= 1
    assert np.array_equal(held_out_split(own, labels, 0.2, 0, 3)[1], held)
    assert not np.array_equal(held_out_split(own, labels, 0.2, 0, 4)[1], held)


def test_held_out_leaves_a_training_sample() -> None:
    labels = np.zeros(10)
    assert [part.tolist() for part in held_out_split(np.array([7]), labels, 0.9, 0, 0)] == [[7], []]
    assert [len(part) for part in held_out_split(np.array([7, 2]), labels, 0.99, 0, "site")] == [1, 1]
    assert [part.tolist() for part in held_out_split(np.array([2, 7]), labels, 0, 0, 0)] == [[2, 7], []]
    with pytest.raises(ConfigError, match="below 1"):
        held_out_split(np.array([2, 7]), labels, 1.0, 0, 0)
