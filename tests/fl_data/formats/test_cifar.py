"""CIFAR's files: for Python, binary, and as strips of pixels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fl_data import DataError
from fl_data.formats import cifar
from tests.fl_data.formats.written import RANDOM, TEN, opcode_file


def test_cifar_10_py(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (12, 3072), dtype=np.uint8)
    names = [*(f"data_batch_{part}" for part in range(1, 6)), "test_batch"]
    for part, name in enumerate(names):
        rows = slice(2 * part, 2 * part + 2)
        (tmp_path / name).write_bytes(opcode_file({"data": x[rows], "labels": [part, 9 - part], "batch_label": name}))
    (tmp_path / "batches.meta").write_bytes(opcode_file({"label_names": [f"class {n}" for n in range(10)]}))
    decoded = cifar.read_cifar_py(tmp_path, TEN)
    assert np.array_equal(decoded.x_train, x[:10].reshape(-1, 3, 32, 32))
    assert decoded.y_train.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert decoded.y_test.tolist() == [5, 4]
    assert decoded.class_names[3] == "class 3"
    (tmp_path / "data_batch_2").unlink()
    with pytest.raises(DataError, match="no file data_batch_2"):
        cifar.read_cifar_py(tmp_path, TEN)


def test_cifar_100_py_and_binary_agree(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (3, 3072), dtype=np.uint8)
    fine, coarse = [99, 0, 41], [3, 2, 1]
    for name in ("train", "test"):
        entries = {"filenames": ["a", "b", "c"], "fine_labels": fine, "coarse_labels": coarse, "data": x}
        (tmp_path / name).write_bytes(opcode_file(entries))
        rows = np.concatenate([np.array([coarse, fine], dtype=np.uint8).T, x], axis=1)
        (tmp_path / f"{name}.bin").write_bytes(rows.tobytes())
    names = tuple(map(str, range(100)))
    for decoded in (cifar.read_cifar_py(tmp_path, names, True), cifar.read_cifar_binary(tmp_path, names, True)):
        assert decoded.y_train.tolist() == fine
        assert np.array_equal(decoded.x_test.reshape(3, -1), x)
    (tmp_path / "test.bin").write_bytes(b"x" * 100)
    with pytest.raises(DataError, match="not a multiple of 3074"):
        cifar.read_cifar_binary(tmp_path, names, True)


def test_cifar_strips(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (2, 1024, 3), dtype=np.uint8)
    for name in [*(f"data_batch_{part}" for part in range(1, 6)), "test_batch"]:
        Image.fromarray(x).save(tmp_path / f"{name}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(list(range(10))))
    (tmp_path / "test_lables.json").write_text("[3, 4]")
    decoded = cifar.read_cifar_strips(tmp_path, TEN)
    assert decoded.x_train.shape == (10, 3, 32, 32)
    assert decoded.x_test[1, 2, 5, 7] == x[1, 5 * 32 + 7, 2]
    assert decoded.y_test.tolist() == [3, 4]
    (tmp_path / "test_lables.json").write_text("[3]")
    with pytest.raises(DataError, match="1 labels for 2 images"):
        cifar.read_cifar_strips(tmp_path, TEN)
