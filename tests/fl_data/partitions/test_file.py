"""`file:FILE.json`, with and without names of clients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_data import client_names, partition
from fl_data.dataset import Dataset

X = np.zeros((6, 2), np.float32)
DATA = Dataset("toy", "features", X, np.zeros(6, int), X, np.zeros(6, int), 1, ("a",), None, None, False)


def test_clients_have_the_names_of_the_file_in_order(tmp_path: Path) -> None:
    file = tmp_path / "parts.json"
    file.write_text(json.dumps({"ward b": [5, 1], "ward a": [0, 4, 2]}))
    assert client_names(f"file:{file}", DATA) == ("ward a", "ward b")
    parts = partition(f"file:{file}", np.zeros(6), 2, 1, 0)
    assert [part.tolist() for part in parts] == [[0, 2, 4], [1, 5]]
    file.write_text(json.dumps([[5, 1], [0, 4, 2]]))
    assert client_names(f"file:{file}", DATA) is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"a": [0, 1], "b": [2]}, "gives client b 1 samples; at least 2 are needed"),
        ({"a": [0, 1]}, "describes 1 clients, but --clients is 2"),
        ({"a": [0, 1], "b": [1, 2]}, "gives sample 1 to 2 places"),
        ({"a": [0, 1], "b": "2, 3"}, "an object of such lists by name"),
        ([], "describes 0 clients"),
    ],
)
def test_wrong_files_are_sentences(tmp_path: Path, content: object, sentence: str) -> None:
    file = tmp_path / "parts.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=sentence):
        partition(f"file:{file}", np.zeros(6), 2, 1, 0)


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
