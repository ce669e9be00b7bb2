"""FEMNIST as LEAF writes it, with its writers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fl_data import DataError
from fl_data.formats import leaf


def test_femnist_json(tmp_path: Path) -> None:
    def write(split: str, users: dict[str, tuple[list[float], list[int]]]) -> None:
        (tmp_path / split).mkdir(exist_ok=True)
        data = {user: {"x": [[value] * 784 for value in xs], "y": ys} for user, (xs, ys) in users.items()}
        content = {"users": list(users), "num_samples": [len(ys) for _, ys in users.values()], "user_data": data}
        (tmp_path / split / "all_data_0.json").write_text(json.dumps(content))

    names = tuple(map(str, range(62)))
    write("train", {"f0": ([1.0, 0.5], [3, 61]), "f1": ([0.0], [7])})
    write("test", {"f0": ([1.0], [3])})
    decoded = leaf.read_femnist(tmp_path, names)
    assert decoded.writers == [[0, 1], [2]]
    assert decoded.x_train[:, 0, 3, 3].tolist() == [255, 128, 0]
    assert decoded.y_train.tolist() == [3, 61, 7]
    write("test", {"f0": ([1.0], [3, 4])})
    with pytest.raises(DataError, match="1 images and 2 labels"):
        leaf.read_femnist(tmp_path, names)
    write("test", {"f0": ([1.0], [62])})
    with pytest.raises(DataError, match=r"0\.\.61"):
        leaf.read_femnist(tmp_path, names)
