"""Messages as plain data between the driver and its workers: numbers as dicts, arrays by where they lie.

An array lies in the memory that driver and worker share (`shared_memory.py`), where nothing is copied that is there already; or it
comes along through Ray, which is the way to another machine; or, from foreign apps, as the bytes that Flower serialised it to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from numpy.typing import NDArray

from fl_protocol.flower import SUPERLINK_NODE_ID, PlainArray, record_of
from simulation.engines.cluster.travelling import Luggage, Souvenirs
from simulation.engines.gpu.gpu_memory import Reading
from simulation.engines.transport.shared_memory import Mapping as Shared

RUN_ID = 1
FIRST_NODE = SUPERLINK_NODE_ID + 1  # the node of client 0; the others follow
KINDS: dict[str, type[Any]] = {"config": ConfigRecord, "metrics": MetricRecord}
NUMBERS = ""  # in place of Flower's serialisation: these are the numbers themselves


@dataclass
class Packed:
    """One array. `content` is an offset in the shared memory, or the numbers, or the bytes that `stype` names."""

    dtype: str
    shape: tuple[int, ...]
    content: int | NDArray[Any]
    stype: str = NUMBERS
    length: int = 0  # of those bytes, where they lie in the shared memory
    finite: bool | None = None  # looked at where the numbers were made, as long as they are near at hand

    @property
    def nbytes(self) -> int:
        if self.length:
            return self.length
        if isinstance(self.content, int):
            return math.prod(self.shape) * np.dtype(self.dtype).itemsize
        return int(self.content.nbytes)


PackedArrays = dict[str, Packed]
Numbers = dict[str, tuple[str, dict[str, Any]]]


@dataclass
class Task:
    """One message for one client. Its array records are sent beside it; `shared` says which (record name -> number)."""

    message_id: str
    node: int
    partition: int
    kind: str
    group: str
    numbers: Numbers
    shared: dict[str, int]
    luggage: Luggage | None = None  # what the client remembers, where its node does not see the driver's folder


@dataclass
class Answer:
    """What came of a task: the reply's content, or the reason why there is none and where it arose."""

    numbers: Numbers
    arrays: dict[str, PackedArrays]
    reason: str = ""
    place: str = ""  # the kind of error and the line that raised it: the same for every client that meets it
    traceback: str = ""
    seconds: float = 0.0
    souvenirs: Souvenirs | None = None  # what became of a task's luggage
    gpu: Reading | None = None  # what the worker's GPU held afterwards

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for arrays in self.arrays.values() for array in arrays.values())


@dataclass
class Room:
    """Where a process may write arrays for another one: a part of the shared memory, from `at` on.

    `lying` are places where arrays of the other one lie already: those need not be written again.
    """

    memory: Shared | None = None
    at: int = 0
    end: int = 0
    lying: Collection[int] = ()
    lent: tuple[int, int] = (0, 0)  # from where to where for the reply that is being made

    def put(self, values: NDArray[Any]) -> int | None:
        """Where the numbers lie now; None if they do not fit."""
        if self.memory is None or not values.nbytes:
            return None
        place = self.memory.offset_of(values)
        if place is not None and (self.lent[0] <= place < self.lent[1] or place in self.lying):
            return place
        offset = self._take(values.itemsize, values.nbytes)
        if offset is not None:
            self.memory.array(offset, values.dtype.str, values.shape)[...] = values
        return offset

    def lend(self, size: int) -> NDArray[np.float32] | None:
        """Memory for a vector that is still to be written; `put` finds it there."""
        before, offset = self.at, self._take(4, 4 * size)
        if self.memory is None or offset is None:
            return None
        self.lent = (min(before, self.lent[0]) if self.lent[1] else before, self.at)
        return self.memory.array(offset, "<f4", (size,))

    def settle(self, arrays: Iterable[PackedArrays]) -> None:
        """What was lent is the reply's now; it is free again if none of its arrays lies there."""
        begin, end = self.lent
        used = any(
            isinstance(each.content, int) and begin <= each.content < end for one in arrays for each in one.values()
        )
        if end and not used and self.at == end:
            self.at = begin
        self.lent = (0, 0)

    def _take(self, itemsize: int, nbytes: int) -> int | None:
        offset = -(-self.at // itemsize) * itemsize
        if self.memory is None or offset + nbytes > self.end:
            return None
        self.at = offset + nbytes
        return offset


def pack_arrays(record: ArrayRecord, room: Room | None = None, look: bool = False) -> PackedArrays:
    """The arrays as they can be sent; those for which there is `room` go there. `look`: whether their numbers are finite."""
    return {name: _pack(array, room or Room(), look) for name, array in record.items()}


def _pack(array: Array, room: Room, look: bool) -> Packed:
    if not isinstance(array, PlainArray):
        written = np.frombuffer(array.data, dtype=np.uint8)
        place = room.put(written)
        content = written if place is None else place
        return Packed(array.dtype, tuple(array.shape), content, array.stype, len(written))
    offset, values = room.put(array.values), array.values
    finite = bool(np.isfinite(values).all()) if look and np.issubdtype(values.dtype, np.floating) else None
    return Packed(array.dtype, array.shape, values if offset is None else offset, finite=finite)


Found = Callable[[int, str, tuple[int, ...]], NDArray[Any]]  # (offset, dtype, shape) -> what lies there


def unpack_arrays(packed: Mapping[str, Packed], found: Found) -> ArrayRecord:
    """The arrays, none of them copied; `found` looks up those in shared memory."""
    return record_of(ArrayRecord, {name: _unpack(array, found) for name, array in packed.items()})


def _unpack(array: Packed, found: Found) -> Array:
    if array.stype != NUMBERS:
        written = found(array.content, "uint8", (array.length,)) if isinstance(array.content, int) else array.content
        return Array(array.dtype, tuple(array.shape), array.stype, written.tobytes())
    if isinstance(array.content, int):
        return PlainArray(found(array.content, array.dtype, array.shape), array.finite)
    return PlainArray(array.content, array.finite)


def pack_numbers(content: RecordDict) -> Numbers:
    """Every record that is not arrays."""
    packed = {}
    for name, record in content.items():
        if not isinstance(record, ArrayRecord):
            packed[name] = ("config" if isinstance(record, ConfigRecord) else "metrics", dict(record.items()))
    return packed


def unpack_content(numbers: Numbers, arrays: Mapping[str, ArrayRecord]) -> RecordDict:
    content: dict[str, Any] = {name: record_of(KINDS[kind], values) for name, (kind, values) in numbers.items()}
    return record_of(RecordDict, {**content, **arrays})
