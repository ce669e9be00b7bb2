"""Files of MNIST and its relatives."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from fl_data import DataError
from fl_data.formats import idx
from tests.fl_data.formats.written import RANDOM, TEN


def write_idx(path: Path, array: np.ndarray) -> None:
    content = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_mnist(folder: Path, suffix: str = "") -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    x, y = RANDOM.integers(0, 256, (7, 28, 28), dtype=np.uint8), np.arange(7, dtype=np.uint8)
    for split, rows in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        write_idx(folder / f"{split}-images-idx3-ubyte{suffix}", x[rows])
        write_idx(folder / f"{split}-labels-idx1-ubyte{suffix}", y[rows])
    return x, y


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx(tmp_path: Path, suffix: str) -> None:
    x, y = write_mnist(tmp_path, suffix)
    decoded = idx.read_mnist(tmp_path, TEN)
    assert np.array_equal(decoded.x_train[:, 0], x[:5])
    assert np.array_equal(decoded.x_test[:, 0], x[5:])
    assert decoded.y_test.tolist() == y[5:].tolist()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda raw: raw[:-1], "announces 3,920 bytes of data but holds 3,919"),
        (lambda raw: raw + b"x", "holds 3,921"),
        (lambda raw: raw[:9], "ends inside its header"),
        (lambda raw: b"\0\0\x0d" + raw[3:], "not an idx file"),
        (lambda raw: b"", "not an idx file"),
    ],
)
def test_a_damaged_idx_file(tmp_path: Path, damage: object, sentence: str) -> None:
    write_mnist(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DataError, match=sentence):
        idx.read_mnist(tmp_path, TEN)


def test_a_truncated_gzip_file_and_a_missing_one(tmp_path: Path) -> None:
    write_mnist(tmp_path, ".gz")
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be unpacked"):
        idx.read_mnist(tmp_path, TEN)
    path.unlink()
    with pytest.raises(DataError, match="no file train-images"):
        idx.read_mnist(tmp_path, TEN)


def test_emnist_letters_are_turned_upright(tmp_path: Path) -> None:
    x, y = RANDOM.integers(0, 256, (3, 28, 28), dtype=np.uint8), np.array([1, 26, 5], dtype=np.uint8)
    for split in ("train", "test"):
        write_idx(tmp_path / f"emnist-letters-{split}-images-idx3-ubyte", x)
        write_idx(tmp_path / f"emnist-letters-{split}-labels-idx1-ubyte", y)
    decoded = idx.read_emnist_letters(tmp_path, tuple("abcdefghijklmnopqrstuvwxyz"))
    assert np.array_equal(decoded.x_train[1, 0], x[1].T)
    assert decoded.y_train.tolist() == [0, 25, 4]


def test_json_by_class_keeps_duplicates_out_of_the_test_set(tmp_path: Path) -> None:
    rows = [[value] * 784 for value in (1, 2, 3, 3)]
    (tmp_path / "0.json").write_text(json.dumps({"data": [*rows, []]}))
    (tmp_path / "1.json").write_text(json.dumps({"data": [[value] * 784 for value in (4, 5, 6)]}))
    decoded = idx.read_class_json(tmp_path, ("a", "b"), test_per_class=1)
    assert decoded.x_test[:, 0, 0, 0].tolist() == [2, 6]
    assert decoded.y_train.tolist() == [0, 1, 0, 1, 0]
    assert decoded.x_train[:, 0, 0, 0].tolist() == [1, 4, 3, 5, 3]
