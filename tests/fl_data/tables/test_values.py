"""One column as numbers, as texts, and as positions in a list of texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from fl_data.dataset import DataError
from fl_data.tables.values import as_numbers, as_texts, is_number, positions, values_of


def column(values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def test_what_counts_as_a_number() -> None:
    assert is_number(column([1, 2]), "x") and is_number(column([0.5, None]), "x") and is_number(column([None]), "x")
    assert not is_number(column(["a"]), "x") and not is_number(column([True]), "x")
    assert not is_number(column(["a", "b"]).dictionary_encode(), "x")
    with pytest.raises(DataError, match="'x' is of type list"):
        is_number(column([[1]]), "x")


def test_numbers() -> None:
    np.testing.assert_array_equal(as_numbers(column([1, None, 3]), "x"), [1.0, np.nan, 3.0])
    assert as_numbers(column([True, False]), "x").tolist() == [1.0, 0.0]
    assert as_numbers(column(["1.5", "2"]), "x").tolist() == [1.5, 2.0]
    with pytest.raises(DataError, match="'x' was expected to hold numbers"):
        as_numbers(column(["one"]), "x")
    with pytest.raises(DataError, match="'x' has infinite values"):
        as_numbers(column([np.inf]), "x")


def test_a_whole_number_is_one_text_however_it_is_stored() -> None:
    assert as_texts(column([3, None]), "x").to_pylist() == ["3", None]
    assert as_texts(column([3.0, 2.5, None]), "x").to_pylist() == ["3", "2.5", None]
    assert as_texts(column([True, False]), "x").to_pylist() == ["true", "false"]


def test_values_in_order_and_positions_among_them() -> None:
    texts = column(["b", None, "a", "b"])
    assert values_of(texts) == ("a", "b")
    assert positions(texts, ("a", "b")).tolist() == [1, -1, 0, 1]
    assert positions(texts, ("c",)).tolist() == [-1] * 4
