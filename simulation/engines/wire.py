"""Messages as plain data between the driver and its workers: arrays as raw buffers, which Ray shares without copying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from numpy.typing import NDArray

from fl_protocol.flower import SUPERLINK_NODE_ID
from simulation.engines.cluster.travelling import Luggage, Souvenirs

RUN_ID = 1
FIRST_NODE = SUPERLINK_NODE_ID + 1  # the node of client 0; the others follow
# name -> (dtype, shape, serialisation, the serialised array)
PackedArrays = dict[str, tuple[str, tuple[int, ...], str, NDArray[np.uint8]]]
KINDS: dict[str, type[Any]] = {"config": ConfigRecord, "metrics": MetricRecord}


@dataclass
class Task:
    """One message for one client. Its array records are sent beside it; `shared` says which (record name -> number)."""

    message_id: str
    node: int
    partition: int
    kind: str
    group: str
    numbers: dict[str, tuple[str, dict[str, Any]]]
    shared: dict[str, int]
    luggage: Luggage | None = None  # what the client remembers, where its node does not see the driver's folder


@dataclass
class Answer:
    """What came of a task: the reply's content, or the reason why there is none and where it arose."""

    numbers: dict[str, tuple[str, dict[str, Any]]]
    arrays: dict[str, PackedArrays]
    reason: str = ""
    place: str = ""  # the kind of error and the line that raised it: the same for every client that meets it
    traceback: str = ""
    seconds: float = 0.0
    souvenirs: Souvenirs | None = None  # what became of a task's luggage


def pack_arrays(record: ArrayRecord) -> PackedArrays:
    return {name: (a.dtype, a.shape, a.stype, np.frombuffer(a.data, dtype=np.uint8)) for name, a in record.items()}


def unpack_arrays(packed: PackedArrays) -> ArrayRecord:
    return ArrayRecord(
        {
            name: Array(dtype, tuple(shape), stype, data.tobytes())
            for name, (dtype, shape, stype, data) in packed.items()
        }
    )


def pack_numbers(content: RecordDict) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every record that is not arrays."""
    packed = {}
    for name, record in content.items():
        if not isinstance(record, ArrayRecord):
            packed[name] = ("config" if isinstance(record, ConfigRecord) else "metrics", dict(record))
    return packed


def unpack_content(numbers: dict[str, tuple[str, dict[str, Any]]], arrays: dict[str, ArrayRecord]) -> RecordDict:
    content: dict[str, Any] = {name: KINDS[kind](values) for name, (kind, values) in numbers.items()}
    return RecordDict({**content, **arrays})
