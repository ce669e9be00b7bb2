"""A user's npz file: which kind of data it is, its labels, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_data import DataError, load
from tests.fl_data.formats.written import save


def test_npz_kinds(tmp_path: Path) -> None:
    features = load(save(tmp_path / "f.npz"))
    assert (features.kind, features.x_train.dtype, features.mean) == ("features", np.float32, None)
    wide = np.zeros((4, 5, 6, 3), np.uint8)
    wide[..., 2] = 255
    colour = load(save(tmp_path / "c.npz", x_train=wide, x_test=wide[:2]))
    assert (colour.kind, colour.shape, colour.mean) == ("image", (3, 5, 6), (0.0, 0.0, 1.0))
    assert colour.std == (1.0, 1.0, 1.0)
    grey = load(save(tmp_path / "g.npz", x_train=wide[..., 0], x_test=wide[:2, ..., 0]))
    assert grey.shape == (1, 5, 6)
    tokens = load(save(tmp_path / "t.npz", x_train=np.full((4, 7), 9), x_test=np.full((2, 7), 11)))
    assert (tokens.kind, tokens.vocabulary, tokens.x_train.dtype) == ("tokens", 12, np.int32)


def test_npz_labels(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = load(save(tmp_path / "a.npz", y_train=[7, -2, 7, 30], y_test=[30, 7]))
    assert data.class_names == ("-2", "7", "30")
    assert data.y_train.tolist() == [1, 0, 1, 2]
    assert data.y_test.tolist() == [2, 1]
    assert "renumbered 0..2" in caplog.text
    site = load(save(tmp_path / "b.npz", y_train=[3, 3, 5, 5], y_test=[3, 5], num_classes=10))
    assert site.y_train.tolist() == [3, 3, 5, 5]
    assert site.num_classes == 10
    private = load(save(tmp_path / "c.npz", x_test=np.zeros((0, 3)), y_test=np.zeros(0)))
    assert private.x_test.shape == (0, 3)
    served = load(save(tmp_path / "d.npz", x_train=np.zeros((0, 3)), y_train=np.zeros(0)))
    assert len(served.x_train) == 0 and len(served.x_test) == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y_train": None}, "has no y_train"),
        ({"x_test": None, "y_test": None}, "has no x_test, y_test"),
        ({"y_train": [0, 1, 2]}, "4 samples"),
        ({"y_train": [0, 0.5, 1, 1]}, "not whole numbers"),
        ({"y_train": ["a", "b", "a", "b"]}, "must be integers"),
        ({"x_train": [[1, 2], [3, np.nan], [1, 1], [1, 1]]}, "NaN"),
        ({"x_test": np.zeros((2, 4))}, "trains on features"),
        ({"x_train": np.zeros((4, 9, 9, 9), np.uint8)}, "images of shape"),
        ({"x_train": np.zeros(4)}, "one row per sample"),
        ({"x_train": np.full((4, 3), "a")}, "expected uint8 images"),
        (
            {"x_train": np.zeros((0, 3)), "y_train": np.zeros(0), "x_test": np.zeros((0, 3)), "y_test": np.zeros(0)},
            "no training samples",
        ),
        ({"num_classes": 1}, "announces num_classes=1"),
    ],
)
def test_wrong_npz_files(tmp_path: Path, change: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        load(save(tmp_path / "a.npz", **change))


def test_objects_and_rubbish_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "o.npz", x_train=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="not a readable npz"):
        load(f"npz:{tmp_path / 'o.npz'}")
    (tmp_path / "r.npz").write_bytes(b"PK\x03\x04 rubbish")
    with pytest.raises(DataError, match="not a readable npz"):
        load(f"npz:{tmp_path / 'r.npz'}")
    with (tmp_path / "s.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DataError, match="single array"):
        load(f"npz:{tmp_path / 's.npz'}")
