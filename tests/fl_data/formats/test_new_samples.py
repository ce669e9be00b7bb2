"""New samples in the form of the training samples; whole runs predict with them in tests/fl_runs/prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fl_data.dataset import DataError
from fl_data.formats.data_card import DataCard
from fl_data.formats.new_samples import check_samples_spec, of_array, read_samples

NUMBERS = DataCard(
    name="npz:a.npz", kind="features", shape=(2,), labels="classes", label_shape=(), num_classes=2, class_names=("3", "5"),
    mean=None, std=None, flips=False, vocabulary=0,
)  # fmt: skip
TOKENS = replace(NUMBERS, name="texts", kind="tokens", shape=(3,), vocabulary=10, class_names=("good", "bad"))


def test_rows_of_numbers_from_every_place(tmp_path: Path) -> None:
    rows = np.array([[0.5, 1.0], [2.0, -3.0]])
    np.savez(tmp_path / "a.npz", x=rows, y=[5, 3])
    given = read_samples(f"npz:{tmp_path}/a.npz", NUMBERS)
    assert given.x.dtype == np.float32 and given.x.tolist() == rows.tolist()
    assert given.y is not None and given.y.tolist() == [1, 0], "the names of the classes are the labels of the file"
    frame = pd.DataFrame(rows, columns=["first", "second"])
    assert of_array(frame, NUMBERS).x.tolist() == rows.tolist() and of_array(frame, NUMBERS).y is None
    labelled = of_array(frame.assign(label=[3, 5]), NUMBERS)
    assert labelled.y is not None and labelled.y.tolist() == [0, 1]
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_samples(f"parquet:{tmp_path}/a.parquet", NUMBERS).x.tolist() == rows.tolist()
    numbers = replace(NUMBERS, labels="numbers", label_shape=(2,))
    np.savez(tmp_path / "b.npz", x=rows, y=rows)
    assert read_samples(f"npz:{tmp_path}/b.npz", numbers).y is not None
    with pytest.raises(DataError, match=r"has labels of shape \(\) per sample"):
        read_samples(f"npz:{tmp_path}/b.npz", replace(numbers, label_shape=()))


def test_rows_of_words() -> None:
    words = pd.DataFrame([[1, 9, 0]])
    given = of_array(words.rename(columns=str), TOKENS)
    assert given.x.dtype == np.int32 and given.x.tolist() == [[1, 9, 0]]
    for wrong in ([[1, 10, 0]], [[1, -1, 0]], [[1, 0.5, 0]]):
        with pytest.raises(DataError, match="no numbers of words: whole numbers from 0 to 9"):
            of_array(pd.DataFrame(wrong).rename(columns=str), TOKENS)
    with pytest.raises(DataError, match="has the token 10, but texts has 10 tokens"):
        of_array(np.array([[1, 10, 0]]), TOKENS)


def test_texts_by_the_words_of_the_run() -> None:
    card = replace(TOKENS, words=("film", "good"), vocabulary=4)
    given = of_array(pd.DataFrame({"review": ["A GOOD film", None], "label": ["bad", "good"]}), card)
    assert given.x.tolist() == [[1, 3, 2], [0, 0, 0]] and given.y is not None and given.y.tolist() == [1, 0]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for spec in ("table.csv", "", "hf:there", "csv"):
        with pytest.raises(
            DataError, match="does not say what to predict.*csv:FILE, parquet:FILE, npz:FILE, folder:DIR"
        ):
            check_samples_spec(spec)
    with pytest.raises(DataError, match="names no folder that exists"):
        check_samples_spec("folder:/nowhere/at/all")
    (tmp_path / "cats").mkdir()
    image = replace(NUMBERS, kind="image", shape=(1, 4, 4), class_names=("cat", "dog"))
    with pytest.raises(DataError, match="has the class 'cats'; did you mean 'cat'"):
        read_samples(f"folder:{tmp_path}", image)
    (tmp_path / "cats").rename(tmp_path / "cat")
    with pytest.raises(DataError, match="has no images"):
        read_samples(f"folder:{tmp_path}", image)
    with pytest.raises(DataError, match="holds images, but npz:a.npz has features"):
        read_samples(f"folder:{tmp_path}", NUMBERS)
    with pytest.raises(DataError, match="a number is missing"):
        of_array(pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}), NUMBERS)
