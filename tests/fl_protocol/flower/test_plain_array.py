"""An array whose bytes are made when they are asked for is, to everybody else, Flower's own array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents

from fl_protocol.arrays import read_array, record_bytes
from fl_protocol.flower import PlainArray, from_bytes, to_bytes

CASES = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(7, dtype=np.int64),
    np.zeros((0, 4), dtype=np.float32),
    np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
    np.arange(8, dtype=np.float32)[::2],
    np.arange(4, dtype=">f4"),
    np.array([True, False]),
]


@pytest.mark.parametrize("values", CASES, ids=lambda values: f"{values.dtype.str}{values.shape}")
class TestSameAsFlowers:
    def test_the_bytes(self, values: np.ndarray[Any, Any]) -> None:
        theirs, ours = Array(np.asarray(values, order="C")), PlainArray(values)
        assert (ours.dtype, ours.shape, ours.stype) == (theirs.dtype, theirs.shape, theirs.stype)
        assert ours.num_bytes == len(theirs.data)  # before the bytes are made
        assert ours.data == theirs.data
        assert ours == theirs and theirs == ours
        assert ours != PlainArray(np.ones(9))

    def test_on_the_wire(self, values: np.ndarray[Any, Any]) -> None:
        theirs, ours = Array(np.asarray(values, order="C")), PlainArray(values)
        assert ours.object_id == theirs.object_id
        pieces = {key: each.deflate() for key, each in get_all_nested_objects(ours).items()}
        inflated = inflate_object_from_contents(ours.object_id, pieces)
        np.testing.assert_array_equal(inflated.numpy(), values)  # type: ignore[attr-defined]

    def test_the_numbers(self, values: np.ndarray[Any, Any]) -> None:
        ours = PlainArray(values)
        np.testing.assert_array_equal(ours.numpy(), values)
        copy = ours.numpy()
        copy[...] = 1
        np.testing.assert_array_equal(read_array(ours), values)

    def test_as_protobuf(self, values: np.ndarray[Any, Any]) -> None:
        record = RecordDict({"arrays": ArrayRecord({"a": PlainArray(values)})})
        back = from_bytes(to_bytes(record))
        assert back == record
        assert record_bytes(back.array_records["arrays"]) == record_bytes(record.array_records["arrays"])


def test_reading_takes_no_copy_and_cannot_write() -> None:
    values = np.arange(5, dtype=np.float32)
    read = read_array(PlainArray(values))
    assert np.shares_memory(read, values) and values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        read[0] = 1


def test_bytes_of_somebody_else_replace_the_numbers() -> None:
    array, other = PlainArray(np.zeros(3, dtype=np.float32)), Array(np.ones(3, dtype=np.float32))
    before = array.object_id
    array.data = other.data
    np.testing.assert_array_equal(read_array(array), np.ones(3))
    assert array == other and array.object_id == other.object_id != before
