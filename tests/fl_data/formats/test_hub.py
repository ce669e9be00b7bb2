"""`hf:PATH`: images, texts and tables that Hugging Face's library wrote, without a word to the network."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from PIL import Image

from fl_data import DataError, load


@pytest.fixture(autouse=True)
def closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a data set on this disk was looked for elsewhere")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def pictures(count: int, size: int = 6, mode: str = "L") -> datasets.Dataset:
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["zebra", "ant"]),
            "writer": datasets.Value("string"),
        }
    )
    rows: dict[str, list[Any]] = {
        "image": [Image.new(mode, (size, size), 10 * (row % 20)) for row in range(count)],
        "label": [row % 2 for row in range(count)],
        "writer": [f"w{row % 3}" for row in range(count)],
    }
    return datasets.Dataset.from_dict(rows, features=features)


def test_images_with_both_splits(tmp_path: Path) -> None:
    datasets.DatasetDict({"train": pictures(12), "test": pictures(4), "unsupervised": pictures(2)}).save_to_disk(
        tmp_path / "d"
    )
    data = load(f"hf:{tmp_path / 'd'}", column="writer")
    assert (data.kind, data.x_train.shape, data.x_test.shape) == ("image", (12, 1, 6, 6), (4, 1, 6, 6))
    assert data.class_names == ("zebra", "ant")  # their order, not the alphabet's
    assert data.y_train.tolist() == [0, 1] * 6
    assert data.x_train[:4, 0, 0, 0].tolist() == [0, 10, 20, 30]
    assert data.columns["writer"][:3].tolist() == ["w0", "w1", "w2"]
    assert data.mean is not None


def test_one_split_keeps_a_fifth_for_testing_and_sizes_are_evened_out(tmp_path: Path) -> None:
    both = datasets.concatenate_datasets([pictures(10, 6, "RGB"), pictures(10, 9, "RGB")])
    both.shuffle(seed=0).save_to_disk(tmp_path / "d")
    data = load(f"hf:{tmp_path / 'd'}")
    assert (data.x_train.shape, len(data.y_test)) == ((16, 3, 64, 64), 4)


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    pictures(10).to_parquet(tmp_path / "d" / "train-00000.parquet")
    pictures(5).to_parquet(tmp_path / "d" / "test-00000.parquet")
    data = load(f"hf:{tmp_path / 'd'}")
    assert (len(data.y_train), len(data.y_test), data.class_names) == (10, 5, ("zebra", "ant"))


def test_texts(tmp_path: Path) -> None:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    rows = datasets.Dataset.from_dict(
        {"text": ["a good day", "a bad day"] * 20, "label": [1, 0] * 20}, features=features
    )
    rows.save_to_disk(tmp_path / "d")
    data = load(f"hf:{tmp_path / 'd'}")
    assert (data.kind, data.shape, data.vocabulary) == ("tokens", (200,), 6)
    assert len(data.y_train) == 32


def test_tables_and_single_files(tmp_path: Path) -> None:
    lines = [f"{row},{'ab'[row % 2]},{'no yes'.split()[row % 3 == 0]},{row / 7}" for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,ill,risk", *lines]) + "\n")
    data = load(f"hf:{tmp_path / 't.csv'}", label="ill", column="sex")
    assert (data.kind, data.shape, data.class_names) == ("features", (2,), ("no", "yes"))
    assert data.encoding is not None
    numbers = load(f"hf:{tmp_path / 't.csv'}", label="risk", labels="numbers")
    assert (numbers.num_classes, numbers.y_train.dtype) == (0, np.float32)
    with pytest.raises(DataError, match="needs --label COLUMN, the column to predict; it has age, sex, ill, risk"):
        load(f"hf:{tmp_path / 't.csv'}")


def test_wrong_places_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="cannot be read as a Hugging Face data set"):
        load(f"hf:{tmp_path / 'empty'}")
    (tmp_path / "x.txt").write_text("text")
    with pytest.raises(DataError, match="ends in none of .csv"):
        load(f"hf:{tmp_path / 'x.txt'}")
    datasets.DatasetDict({"first": pictures(4), "second": pictures(4)}).save_to_disk(tmp_path / "d")
    with pytest.raises(DataError, match="has the splits first, second, but none is called train"):
        load(f"hf:{tmp_path / 'd'}")
