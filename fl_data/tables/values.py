"""The values of one column of a table, as numbers or as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fl_data.dataset import DataError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without Parquet's dictionary, which is only a way to store it."""
    from pyarrow import types

    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def is_number(column: pa.ChunkedArray, name: str) -> bool:
    """Whether a column is used as numbers (True) or as texts (False); other types are refused with a sentence."""
    from pyarrow import types

    kind = _plain(column).type
    if types.is_null(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return True
    if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return False
    raise DataError(
        f"The column {name!r} is of type {kind}, but features are numbers, texts or truth values: "
        "turn it into one of them (a date into days, say) or take it out of the file."
    )


def as_numbers(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """float64, NaN where a value is missing."""
    import pyarrow as pa

    plain = _plain(column)
    try:
        if pa.types.is_boolean(plain.type):
            plain = plain.cast(pa.int8())
        values = np.asarray(plain.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"The column {name!r} was expected to hold numbers, but it does not ({error}).") from error
    if np.isinf(values).any():
        raise DataError(f"The column {name!r} has infinite values; clean them before training.")
    return values


def as_texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Texts, null where a value is missing. Whole numbers are written without a point, so that 3 and 3.0 are one value."""
    import pyarrow as pa

    plain = _plain(column)
    if pa.types.is_floating(plain.type) or pa.types.is_decimal(plain.type):
        return pa.chunked_array(
            [pa.array([_written(value) for value in as_numbers(plain, name).tolist()], pa.string())]
        )
    try:
        return plain.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"The column {name!r} of type {plain.type} cannot be read as text ({error}).") from error


def values_of(texts: pa.ChunkedArray) -> tuple[str, ...]:
    """The different texts in alphabetical order, missing ones left out."""
    return tuple(sorted(text for text in texts.unique().to_pylist() if text is not None))


def positions(texts: pa.ChunkedArray, values: Sequence[str]) -> np.ndarray:
    """For each text which of the values it is, -1 where it is none of them."""
    import pyarrow as pa
    from pyarrow import compute

    found = compute.index_in(texts, value_set=pa.array(values, pa.string()), skip_nulls=True)
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def _written(value: float) -> str | None:
    if np.isnan(value):
        return None
    return str(int(value)) if value == int(value) else repr(value)
