"""Array records that messages carry, stored once however many messages share one, for workers of this machine and of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from fl_models.flat import address
from fl_protocol.arrays import num_bytes
from fl_protocol.flower import PlainArray
from simulation.engines.transport.shared_memory import Range, SharedMemory
from simulation.engines.transport.wire import Found, PackedArrays, Room, pack_arrays


class Stored:
    """One array record. It keeps its range of the shared memory for as long as a message needs it."""

    def __init__(self, number: int, record: ArrayRecord, memory: SharedMemory | None) -> None:
        self.number = number
        self.record = record
        self._ref: Any = None
        self.range = memory.take(sum(map(num_bytes, record.values()))) if memory and len(record) else None
        self.packed: PackedArrays | None = None
        if memory and self.range:
            room = Room(memory.mapping, self.range.offset, self.range.offset + self.range.size)
            self.packed = pack_arrays(record, room)

    def for_worker(self, ray: Any, here: bool) -> Any:
        """What a call gets: where the arrays lie, for a worker that shares our memory, else a reference into Ray's store."""
        if here and self.packed is not None:
            return self.packed
        if self._ref is None:
            self._ref = ray.put(pack_arrays(self.record))
        return self._ref


def key_of(record: ArrayRecord) -> tuple[Any, ...]:
    """The same for two records that hold the same memory: those made for one client each may still share it."""
    return tuple((name, *_place(array)) for name, array in record.items())


def _place(array: Array) -> tuple[Any, ...]:
    if isinstance(array, PlainArray):
        return address(array.values), array.dtype, array.shape
    return (id(array.data),)


def looked_up(ranges: Iterable[Range | None]) -> Found:
    """Finds arrays of a reply: in the range that its worker was given, or in one of those that the message came in."""
    known = [each for each in ranges if each is not None]

    def found(offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        return next(each for each in known if each.holds(offset)).array(offset, dtype, shape)

    return found
