"""CSV and Parquet files as users have them: separators, holes, decimals that come late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fl_data import DataError
from fl_data.tables import read


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_quotes_and_a_byte_order_mark(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "t.csv"
    text = "\n".join(
        separator.join(row) for row in (("name", "age", "kind"), (f'"a{separator}b"', "3", ""), ("c", "", "x"))
    )
    file.write_text("\ufeff" + text + "\n", encoding="utf-8")
    table = read(file)
    assert table.column_names == ["name", "age", "kind"]
    assert table["name"].to_pylist() == [f"a{separator}b", "c"]
    assert table["age"].to_pylist() == [3, None]
    assert table["kind"].to_pylist() == [None, "x"]


def test_decimals_may_come_late(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,y\n" + "".join(f"{row},a\n" for row in range(300_000)) + "0.5,b\n")
    assert read(file)["x"][-1].as_py() == 0.5


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,a\n1,2\n", "two columns called 'a'"),
        (",a\n0,2\n", "column without a name"),
        ("a,b\n", "has no rows"),
        ("", "not a readable csv file"),
        ("a,b\n1\n2,3\n", "not a readable csv file"),
    ],
)
def test_wrong_files_are_sentences(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataError, match=sentence):
        read(tmp_path / "t.csv")


def test_files_that_are_something_else(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"rubbish")
    with pytest.raises(DataError, match="not a readable parquet file"):
        read(tmp_path / "t.parquet")
    (tmp_path / "latin.csv").write_bytes(b"gr\xf6\xdfe,y\n1,2\n")
    with pytest.raises(DataError, match="not a readable csv file"):
        read(tmp_path / "latin.csv")
    with pytest.raises(DataError, match="There is no file"):
        read(tmp_path / "absent.csv")


def content(rows: int = 90) -> pa.Table:
    return pa.table(
        {
            "age": np.arange(rows, dtype=float),
            "hospital": [("north", "south", "east")[row % 3] for row in range(rows)],
            "ill": [("no", "yes")[row * 7 % 11 > 5] for row in range(rows)],
        }
    )
