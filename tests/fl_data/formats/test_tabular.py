"""`csv:FILE` and `parquet:FILE` as data sets, and as targets that are encoded alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fl_data import load, target_set


def content(rows: int = 90) -> pa.Table:
    return pa.table(
        {
            "age": np.arange(rows, dtype=float),
            "hospital": [("north", "south", "east")[row % 3] for row in range(rows)],
            "ill": [("no", "yes")[row * 7 % 11 > 5] for row in range(rows)],
        }
    )


def test_both_forms_give_the_same_data(tmp_path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(content(), tmp_path / "t.csv")
    parquet.write_table(content().append_column("__index_level_0__", pa.array(range(90))), tmp_path / "t.parquet")
    one = load(f"csv:{tmp_path / 't.csv'}", label="ill", column="hospital")
    two = load(f"parquet:{tmp_path / 't.parquet'}", label="ill", column="hospital")
    assert one.x_train.tobytes() == two.x_train.tobytes()
    assert np.array_equal(one.y_test, two.y_test)
    assert one.encoding == two.encoding
    assert (one.kind, one.shape, one.class_names) == ("features", (1,), ("no", "yes"))
    assert load(f"csv:{tmp_path / 't.csv'}", label="ill", column="hospital") is one
    assert load(f"csv:{tmp_path / 't.csv'}", label="ill").shape == (4,)
    raw = load(f"csv:{tmp_path / 't.csv'}", label="ill", column="hospital", normalise="none")
    assert raw.x_train.max() > 80


def test_a_target_in_a_table_is_encoded_alike(tmp_path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(content(), tmp_path / "t.csv")
    data = load(f"csv:{tmp_path / 't.csv'}", label="ill", column="hospital")
    csv.write_csv(content(4), tmp_path / "new.csv")
    x, y = target_set(f"csv:{tmp_path / 'new.csv'}", data, None, 0)
    assert y is not None
    assert y.tolist() == [0, 1, 0, 1]
    assert data.encoding is not None
    assert np.array_equal(x, data.encoding.apply(content(4)))
    csv.write_csv(content(4).drop_columns(["ill"]), tmp_path / "new.csv")
    assert target_set(f"csv:{tmp_path / 'new.csv'}", data, None, 0)[1] is None
    with pytest.raises(ValueError, match="is a table, but digits is none"):
        target_set(f"csv:{tmp_path / 'new.csv'}", load("digits"), None, 0)
