"""A CSV or Parquet file as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fl_data.dataset import DataError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_DELIMITERS = ",;\t|"
_LARGEST_BLOCK = 2**31 - 1


def read(path: Path, form: str = "") -> pa.Table:
    """The table of a file; its form is `csv` or `parquet`, by default what its name ends in.

    A CSV file has a header line and is separated by commas, semicolons, tabs or bars. An empty field is a missing value.
    """
    path = Path(path).expanduser()
    kind = form or ("parquet" if path.suffix.lower() in (".parquet", ".pq") else "csv")
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    import pyarrow as pa

    try:
        table = _read_parquet(path) if kind == "parquet" else _read_csv(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a readable {kind} file ({str(error).splitlines()[0]}).") from error
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise DataError(f"{path} has two columns called {twice[0]!r}; give one of them another name.")
    if "" in table.column_names:
        raise DataError(
            f"{path} has a column without a name, perhaps row numbers: name it, or write the file without them."
        )
    if not table.num_rows:
        raise DataError(f"{path} has no rows.")
    return table


def _read_parquet(path: Path) -> pa.Table:
    from pyarrow import parquet  # type: ignore[import-untyped]

    table = parquet.read_table(path)
    # pandas stores its row numbers as such columns.
    return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv  # type: ignore[import-untyped]

    with path.open(encoding="utf-8-sig") as lines:
        header = lines.readline()
    delimiter = max(_DELIMITERS, key=header.count)
    # One block as large as the file: types are told from the first block, and a column may show its decimals late.
    block = min(max(path.stat().st_size, 1 << 16), _LARGEST_BLOCK)
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(block_size=block),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )
