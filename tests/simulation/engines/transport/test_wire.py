"""Arrays on their way between driver and worker: in shared memory where there is room, else along with the call, always the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from fl_protocol.arrays import from_record, is_finite, to_record
from simulation.engines.transport.shared_memory import Range, SharedMemory
from simulation.engines.transport.stored import Stored, key_of, looked_up
from simulation.engines.transport.wire import Room, pack_arrays, pack_numbers, unpack_arrays, unpack_content

ARRAYS = {
    "w": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b": np.ones(3, dtype=np.float32),
    "count": np.array(3, dtype=np.int64),
    "none": np.zeros((0, 2), dtype=np.float32),
}


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    opened = SharedMemory(2**24)
    yield opened
    opened.close()


def room_in(memory: SharedMemory, size: int) -> tuple[Range, Room]:
    piece = memory.take(size)
    assert piece is not None
    return piece, Room(memory.mapping, piece.offset, piece.offset + size)


def assert_same(record: ArrayRecord) -> None:
    read = from_record(record)
    assert list(read) == list(ARRAYS)
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(read[name], value)
        assert read[name].dtype == value.dtype and read[name].shape == value.shape


@pytest.mark.parametrize("size", [4096, 50, 0], ids=["all", "some", "none"])
def test_arrays_arrive_whatever_fits(memory: SharedMemory, size: int) -> None:
    piece, room = room_in(memory, size)
    packed = pack_arrays(to_record(ARRAYS), room)
    inside = [name for name, array in packed.items() if isinstance(array.content, int)]
    assert inside == {4096: ["w", "b", "count"], 50: ["w"], 0: []}[size]
    assert_same(unpack_arrays(packed, looked_up([None, piece])))
    assert sum(array.nbytes for array in packed.values()) == sum(value.nbytes for value in ARRAYS.values())


def test_the_parameters_of_a_reply_lie_in_one_piece(memory: SharedMemory) -> None:
    piece, room = room_in(memory, 4096)
    packed = pack_arrays(to_record(ARRAYS), room)
    assert packed["b"].content == piece.offset + ARRAYS["w"].nbytes
    assert packed["count"].content % 8 == 0  # type: ignore[operator]


def test_what_lies_there_already_is_not_written_again(memory: SharedMemory) -> None:
    stored = Stored(0, to_record(ARRAYS), memory)
    assert stored.packed is not None and stored.range is not None
    there = unpack_arrays(stored.packed, memory.mapping.array)
    piece, room = room_in(memory, 4096)
    room.lying = {array.content for array in stored.packed.values() if isinstance(array.content, int)}
    packed = pack_arrays(there, room)
    assert room.at == piece.offset
    assert_same(unpack_arrays(packed, looked_up([piece, stored.range])))
    stranger = Room(
        memory.mapping, piece.offset, piece.offset + 4096
    )  # who may not know what lies there writes it again
    assert pack_arrays(there, stranger)["w"].content == piece.offset


@pytest.mark.parametrize("size", [4096, 0])
def test_bytes_of_a_foreign_app_stay_as_they_are(memory: SharedMemory, size: int) -> None:
    odd, plain = Array("bfloat16", (2,), "somebody.else", b"1234"), Array(ARRAYS["w"])
    piece, room = room_in(memory, size)
    packed = pack_arrays(ArrayRecord({"odd": odd, "plain": plain}), room)
    assert isinstance(packed["plain"].content, int) == bool(size) and packed["plain"].nbytes == len(plain.data)
    record = unpack_arrays(packed, looked_up([piece]))
    assert record["odd"] == odd and record["plain"] == plain


def test_numbers_that_are_not_finite_are_noticed_where_they_are_made() -> None:
    values = {"bad": np.array([1.0, np.nan], dtype=np.float32), "good": np.ones(2, dtype=np.float32)}
    assert pack_arrays(to_record(values))["bad"].finite is None  # what the driver sends is its own
    packed = pack_arrays(to_record(values), look=True)
    assert (packed["bad"].finite, packed["good"].finite) == (False, True)
    record = unpack_arrays(packed, looked_up([]))
    assert not is_finite(record["bad"]) and is_finite(record["good"])
    assert not is_finite(to_record(values)["bad"])  # and looked for where nobody has


def test_records_are_stored_once_by_the_memory_in_them() -> None:
    one, same, other = to_record(ARRAYS), to_record(ARRAYS), to_record({"w": ARRAYS["w"].copy()})
    assert key_of(one) == key_of(same)
    assert key_of(ArrayRecord({"w": one["w"]})) != key_of(other)


def test_numbers_come_back_as_they_were() -> None:
    content = RecordDict({"config": ConfigRecord({"lr": 0.1, "names": ["a"]}), "metrics": MetricRecord({"loss": 0.5})})
    back = unpack_content(pack_numbers(content), {"arrays": to_record(ARRAYS)})
    assert back["config"] == content["config"] and back["metrics"] == content["metrics"]
    assert_same(back.array_records["arrays"])


def test_what_was_lent_to_a_reply_is_not_copied(memory: SharedMemory) -> None:
    piece, room = room_in(memory, 4096)
    vector = room.lend(5)
    assert vector is not None
    vector[:] = np.arange(5)
    packed = pack_arrays(to_record({"a": vector[:2], "b": vector[2:], "c": np.ones(3, dtype=np.float32)}), room)
    assert [packed[name].content for name in "abc"] == [piece.offset, piece.offset + 8, piece.offset + 20]
    room.settle([packed])
    assert room.at == piece.offset + 32
    read = from_record(unpack_arrays(packed, looked_up([piece])))
    assert [read[name].tolist() for name in "abc"] == [[0, 1], [2, 3, 4], [1, 1, 1]]


def test_what_was_lent_for_nothing_is_free_again(memory: SharedMemory) -> None:
    piece, room = room_in(memory, 64)
    assert room.lend(10) is not None and room.lend(100) is None
    room.settle(())
    assert (room.at, room.lent) == (piece.offset, (0, 0))
    assert room.lend(16) is not None
