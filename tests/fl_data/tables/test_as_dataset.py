"""A table as a data set: which rows test, which column is predicted, who owns a row."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest

from fl_data import DataError
from fl_data.formats.ways import Wanted
from fl_data.tables import encode


def table(rows: int = 100, **columns: object) -> pa.Table:
    random = np.random.default_rng(0)
    base: dict[str, object] = {
        "x": random.normal(50, 9, rows),
        "hospital": [("a", "b", "c", "a")[row % 4] for row in range(rows)],
        "y": np.arange(rows) % 3 == 0,
    }
    return pa.table(base | columns)


def test_a_fifth_of_each_client_is_for_testing() -> None:
    data = encode(table(), Wanted(label="y", column="hospital"), "toy")
    assert (len(data.y_train), len(data.y_test)) == (80, 20)
    assert {name: int((data.columns["hospital"] == name).sum()) for name in "abc"} == {"a": 40, "b": 20, "c": 20}
    assert data.shape == (1,)  # the clients' column is no feature
    assert data.encoding is not None
    assert data.encoding.feature_names == ("x",)
    again = encode(table(), Wanted(label="y", column="hospital"), "toy")
    assert again.x_test.tobytes() == data.x_test.tobytes()
    alone = encode(table(), Wanted(label="y"), "toy")
    assert alone.shape == (4,)
    assert np.bincount(alone.y_test).tolist() == [13, 7]  # each class in proportion


def test_statistics_are_of_the_training_rows_alone() -> None:
    mark = ["train"] * 60 + ["Test "] * 40
    x = np.concatenate([np.tile([1.0, 3.0], 30), np.full(40, 1000.0)])
    data = encode(table(x=x, split=mark), Wanted(label="y", column="hospital"), "toy")
    assert (len(data.y_train), len(data.y_test)) == (60, 40)
    assert data.x_train[:2, 0].tolist() == [-1, 1]
    assert data.x_test[0, 0] == 998
    assert data.encoding is not None
    assert data.encoding.feature_names == ("x",)


def test_labels_do_not_move_the_features() -> None:
    """The features of the same training rows are the same bits whatever their labels are."""
    mark = ["train"] * 60 + ["test"] * 40
    one, two = (
        encode(table(y=labels, split=mark), Wanted(label="y", column="hospital"), "toy")
        for labels in (np.arange(100) % 3, np.arange(100) % 7)
    )
    assert one.x_train.tobytes() == two.x_train.tobytes()


def test_another_column_called_split_is_a_feature() -> None:
    data = encode(table(split=["left", "right"] * 50), Wanted(label="y", column="hospital"), "toy")
    assert data.shape == (3,)


def test_what_is_told(caplog: pytest.LogCaptureFixture) -> None:
    holes = pa.array([None if row % 10 == 0 else float(row) for row in range(100)])
    empty = pa.nulls(100)
    with caplog.at_level(logging.INFO, logger="fedloom"):
        encode(table(age=holes, note=empty), Wanted(label="y", column="hospital"), "toy")
    assert "toy: missing values become the column's mean: age (" in caplog.text
    assert "the column note has no value in any training row and is left out" in caplog.text
    assert "2 classes in 'y': false, true" in caplog.text


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (pa.array([10, 9, 2] * 40), ("2", "9", "10")),
        (pa.array([10.0, 9.0, 2.0] * 40), ("2", "9", "10")),
        (pa.array(["no", "yes", "maybe"] * 40), ("maybe", "no", "yes")),
    ],
)
def test_classes_and_their_names(labels: pa.Array, names: tuple[str, ...]) -> None:
    data = encode(table(120, y=labels), Wanted(label="y"), "toy")
    assert data.class_names == names
    assert data.num_classes == 3
    assert data.y_train.dtype == np.int64
    assert sorted(set(data.y_train.tolist())) == [0, 1, 2]


def test_an_encoding_of_another_site_is_taken_as_it_is() -> None:
    first = encode(table(), Wanted(label="y", column="hospital"), "toy")
    there = encode(table(40, x=np.full(40, 50.0)), Wanted(encoding=first.encoding, column="hospital"), "there")
    assert there.encoding is first.encoding
    assert there.class_names == ("false", "true")
    assert first.encoding is not None
    number = first.encoding.features[0]
    assert there.x_train[0, 0] == pytest.approx((50 - number.mean) / number.deviation)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "wanted", "sentence"),
    [
        ({}, Wanted(), "needs --label COLUMN, the column to predict; it has x, hospital, y"),
        ({}, Wanted(label="z"), "no column 'z' for --label; it has x, hospital, y"),
        ({}, Wanted(label="y,x"), "names 2 columns, but a classification predicts one"),
        ({}, Wanted(label="x"), "not whole numbers, such as .* use --task regression"),
        ({"y": np.arange(100)}, Wanted(label="y"), "100 different values in 100 samples"),
        ({"y": ["a"] * 100}, Wanted(label="y"), "has the value a everywhere"),
        ({"y": pa.array([None, *["a", "b", "a"] * 33])}, Wanted(label="y"), "a row has no value"),
        ({}, Wanted(label="y", column="ward"), "the column is not among x, hospital, y"),
        ({}, Wanted(label="y", column="y"), "the column is the label"),
        ({"hospital": [None, *["a"] * 99]}, Wanted(label="y", column="hospital"), "names no client in 1 rows"),
        (
            {"split": ["train", "test", "val", "x"] * 25},
            Wanted(label="y"),
            "has the value 'val'; train and test were expected",
        ),
        ({"split": ["test"] * 100}, Wanted(label="y"), "no training rows"),
    ],
)
def test_wrong_tables_are_sentences(columns: dict[str, object], wanted: Wanted, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        encode(table(**columns), wanted, "toy")


def test_nothing_to_learn_from() -> None:
    with pytest.raises(DataError, match="no column left to learn from beside y, hospital"):
        encode(table().drop_columns(["x"]), Wanted(label="y", column="hospital"), "toy")
