"""Arrays of messages are read without a copy, with the numbers that Flower's own reading gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array

from fl_protocol.arrays import read_array

CASES = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(7, dtype=np.int64),
    np.zeros((0, 4), dtype=np.float32),
    np.arange(4, dtype=np.float64),
    np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    np.arange(4, dtype=">f4"),
    np.array([True, False]),
]


@pytest.mark.parametrize("values", CASES, ids=lambda values: f"{values.dtype.str}{values.shape}")
def test_numbers_are_those_that_flower_reads(values: np.ndarray[Any, Any]) -> None:
    read = read_array(Array(values))
    np.testing.assert_array_equal(read, values)
    assert read.shape == values.shape


def test_the_message_itself_is_read() -> None:
    array = Array(CASES[0])
    assert np.shares_memory(read_array(array), np.frombuffer(array.data, dtype=np.uint8))


def test_a_header_that_says_something_else_is_believed_rather_than_the_label() -> None:
    honest = Array(np.arange(6, dtype=np.float32).reshape(2, 3))
    labelled = Array("int32", (6,), honest.stype, honest.data)
    np.testing.assert_array_equal(read_array(labelled), honest.numpy())
