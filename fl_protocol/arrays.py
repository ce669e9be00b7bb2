"""Reading Flower arrays without a copy: the bytes of a message are used as they lie, read-only.

`Array.numpy()` parses each array's header as Python text and copies the numbers; for small models that takes longer than the
training of a minibatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, RecordDict
from numpy.typing import NDArray

from fl_protocol.flower import PlainArray, record_of
from fl_protocol.types import Arrays

MAGIC = b"\x93NUMPY\x01\x00"  # version 1.0: two bytes for the length of the header follow


def read_array(array: Array) -> NDArray[Any]:
    """The same numbers as `array.numpy()`; anything but a plain C-ordered array is left to that."""
    if isinstance(array, PlainArray):
        return array.values
    data = array.data
    start = len(MAGIC) + 2 + int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "little")
    header = f"{{'descr': '{np.dtype(array.dtype).str}', 'fortran_order': False, 'shape': {tuple(array.shape)}, }}"
    if (
        array.stype != "numpy.ndarray"
        or not data.startswith(MAGIC)
        or data[len(MAGIC) + 2 : start].strip() != header.encode()
    ):
        return array.numpy()
    return np.frombuffer(data, dtype=array.dtype, offset=start).reshape(array.shape)


def is_finite(array: Array) -> bool:
    """Whether all numbers are finite. Looking takes as long as fetching them from another core's cache."""
    known = array.finite if isinstance(array, PlainArray) else None
    return bool(np.isfinite(read_array(array)).all()) if known is None else known


def to_record(arrays: Mapping[str, NDArray[Any]]) -> ArrayRecord:
    """The arrays as they lie, which must not change any more."""
    return record_of(ArrayRecord, {name: PlainArray(value) for name, value in arrays.items()})


def from_record(record: Mapping[str, Array]) -> Arrays:
    return {name: read_array(array) for name, array in record.items()}


def record_bytes(record: Mapping[str, Array]) -> int:
    return sum(map(num_bytes, record.values()))


def content_bytes(contents: Iterable[RecordDict]) -> int:
    """What the arrays of these messages take on a wire, each counted as often as it is sent."""
    known: dict[int, int] = {}  # messages of one round share their records
    total = 0
    for content in contents:
        for record in content.values():
            if isinstance(record, ArrayRecord):
                if id(record) not in known:
                    known[id(record)] = record_bytes(record)
                total += known[id(record)]
    return total


def num_bytes(array: Array) -> int:
    """What the array takes on a wire."""
    return array.num_bytes if isinstance(array, PlainArray) else len(array.data)


Packed = ArrayRecord  # named arrays as they travel; several messages may share one


def chosen(packed: Packed, wanted: Callable[[str], bool]) -> Packed:
    """Some of the arrays, sharing their bytes."""
    return Packed({name: array for name, array in packed.items() if wanted(name)})


def replaced(packed: Packed, by: Packed) -> Packed:
    """The same arrays with those of `by` in place of their namesakes, sharing all bytes."""
    return Packed({name: by.get(name, array) for name, array in packed.items()})
