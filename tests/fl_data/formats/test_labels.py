"""npz files with numbers or several classes per sample, and the guard against classes that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fl_data import DataError, Samples, check_target_spec, held_out_split, load, target_indices, target_set
from fl_data.formats.labels import check_classes


def save(path: Path, **arrays: Any) -> str:
    full = {"x_train": np.ones((6, 3)), "x_test": np.zeros((2, 3))} | arrays
    np.savez(path, **full)
    return f"npz:{path}"


def test_numbers_come_as_float32(tmp_path: Path) -> None:
    spec = save(tmp_path / "a.npz", y_train=np.arange(6) / 4, y_test=np.array([7.0, -1.0]))
    data = load(spec, labels="numbers")
    assert (data.labels, data.num_classes, data.outputs, data.class_names) == ("numbers", 0, 1, ("0",))
    assert data.y_train.dtype == np.float32
    assert data.y_train.tolist() == [0, 0.25, 0.5, 0.75, 1, 1.25]
    samples = Samples(data.x_train, data.y_train, data, indices=np.array([5, 1]))
    _, y = samples.batch(torch.tensor([0, 1]))
    assert y is not None
    assert (y.dtype, y.tolist()) == (torch.float32, [1.25, 0.25])
    wide = load(save(tmp_path / "b.npz", y_train=np.ones((6, 2)), y_test=np.ones((2, 2))), labels="numbers")
    assert (wide.y_train.shape, wide.outputs) == ((6, 2), 2)
    private = load(
        save(tmp_path / "c.npz", y_train=np.ones((6, 2)), x_test=np.zeros((0, 3)), y_test=np.zeros(0)), labels="numbers"
    )
    assert private.y_test.shape == (0, 2)


def test_many_classes_per_sample(tmp_path: Path) -> None:
    y = np.eye(3, dtype=bool)[[0, 1, 2, 0, 1, 2]] | np.eye(3, dtype=bool)[[0, 0, 1, 1, 2, 2]]
    data = load(save(tmp_path / "a.npz", y_train=y, y_test=y[:2]), labels="many")
    assert (data.labels, data.num_classes, data.outputs, data.y_train.dtype) == ("many", 3, 3, np.float32)
    assert np.array_equal(data.y_train, y)


@pytest.mark.parametrize(
    ("labels", "y", "sentence"),
    [
        ("numbers", np.full(6, np.nan), "NaN or infinite"),
        ("numbers", np.array(list("abcdef")), "regression needs numbers"),
        ("numbers", np.zeros(5), "for 6 samples"),
        ("many", np.zeros(6), "one row of 0 and 1 per sample"),
        ("many", np.full((6, 2), 2), "one row of 0 and 1 per sample"),
        ("classes", np.arange(6) / 4, "not whole numbers; for other numbers use --task regression"),
    ],
)
def test_wrong_labels_are_sentences(tmp_path: Path, labels: Any, y: np.ndarray, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        load(save(tmp_path / "a.npz", y_train=y, y_test=y[:2]), labels=labels)


def test_many_values_are_not_taken_for_classes_in_silence(tmp_path: Path) -> None:
    x, y = np.zeros((442, 3)), np.arange(442) % 213
    spec = save(tmp_path / "a.npz", x_train=x, y_train=y, x_test=x[:0], y_test=y[:0])
    with pytest.raises(DataError, match="213 different values in 442 samples.* use --task regression"):
        load(spec)
    assert load(spec, labels="numbers").num_classes == 0
    announced = save(tmp_path / "b.npz", x_train=x, y_train=y, x_test=x[:0], y_test=y[:0], num_classes=213)
    assert load(announced).num_classes == 213
    check_classes(10, 12, "a small site")
    check_classes(100, 1000, "a tenth")
    with pytest.raises(DataError):
        check_classes(101, 1000, "more than a tenth")
    with pytest.raises(DataError):
        check_classes(11, 109, "more than a tenth")


def test_an_array_may_name_the_clients(tmp_path: Path) -> None:
    owner = np.array(["b", "a", "b", "a", "b", "a"])
    spec = save(tmp_path / "a.npz", y_train=np.arange(6) % 2, y_test=np.arange(2), ward=owner)
    assert load(spec, column="ward").columns["ward"].tolist() == owner.tolist()
    with pytest.raises(DataError, match="no array 'hospital' with one value for each of its 6 training samples"):
        load(spec, column="hospital")


def test_targets_of_numbers(tmp_path: Path) -> None:
    data = load(save(tmp_path / "a.npz", y_train=np.arange(6) / 4, y_test=np.array([7.0, -1.0])), labels="numbers")
    x, y = target_set("uniform", data, None, 0)
    assert y is not None
    assert (len(x), y.tolist()) == (2, [7, -1])
    for spec in ("imbalanced:10", "skew:0"):
        with pytest.raises(
            ValueError, match="chooses samples by class, but a sample here has no single class; use uniform"
        ):
            target_indices(spec, data, np.ones((1, 1)), 0)
    np.savez(tmp_path / "t.npz", x=np.ones((3, 3)), y=np.array([0.5, 1.5, 2.5]))
    _, y = target_set(f"npz:{tmp_path / 't.npz'}", data, None, 0)
    assert y is not None
    assert y.tolist() == [0.5, 1.5, 2.5]
    np.savez(tmp_path / "t.npz", x=np.ones((3, 3)), y=np.ones((3, 2)))
    with pytest.raises(DataError, match="labels of shape"):
        target_set(f"npz:{tmp_path / 't.npz'}", data, None, 0)
    with pytest.raises(ValueError, match="names no file that exists"):
        check_target_spec("csv:/nowhere.csv")


@pytest.mark.parametrize("labels", [np.linspace(0, 9, 50, dtype=np.float32), np.ones((50, 4), dtype=np.float32)])
def test_held_out_without_classes(labels: np.ndarray) -> None:
    train, held = held_out_split(np.arange(50), labels, 0.2, 0, "site")
    assert (len(train), len(held)) == (40, 10)
    assert sorted([*train, *held]) == list(range(50))
    assert np.array_equal(held, held_out_split(np.arange(50), labels, 0.2, 0, "site")[1])
