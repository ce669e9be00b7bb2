"""The ways in `csv:FILE` and `parquet:FILE`: a table with a label column, and perhaps a column that names the clients."""

from __future__ import annotations

from pathlib import Path

from fl_data.dataset import Dataset
from fl_data.formats.ways import Wanted, way


@way("csv:FILE", "a table with a header line", label="needed", columns=True, targets=("classes", "numbers", "many"))
def read_csv(path: Path, wanted: Wanted) -> Dataset:
    return _table("csv", path, wanted)


@way("parquet:FILE", "a Parquet table", label="needed", columns=True, targets=("classes", "numbers", "many"))
def read_parquet(path: Path, wanted: Wanted) -> Dataset:
    return _table("parquet", path, wanted)


def _table(form: str, path: Path, wanted: Wanted) -> Dataset:
    from fl_data.tables import encode, read

    return encode(read(path, form), wanted, f"{form}:{path}")
