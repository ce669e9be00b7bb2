"""Checking and unpacking one client's reply: names, shapes, types and finite values; what does not fit is refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode
from numpy.typing import NDArray

from clients.client import ARRAYS, EXTRA, METRICS
from fl_protocol.arrays import from_record, read_array, record_bytes
from fl_protocol.layout import Layout
from fl_protocol.types import Arrays, ClientId, Vector
from fl_strategies.round.cohort import norm

# What Flower says about a message that expired, or whose node went away.
UNREACHABLE = (ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE)


class BadReply(ValueError):
    """A reply that cannot be used; the message is the reason."""


@dataclass
class ClientReply:
    client: ClientId
    vector: Vector  # theta_i
    buffers: dict[str, NDArray[Any]]
    extras: dict[str, Vector]
    metrics: dict[str, float] = field(default_factory=dict)
    bytes: int = 0
    groups: dict[str, Arrays] = field(default_factory=dict)  # what the topology has it send beside the model
    place: int = 0  # its row among those received; the vectors themselves are kept there

    @property
    def size(self) -> int:
        return int(self.metrics["num-examples"])


def read_reply(
    message: Message,
    client: ClientId,
    layout: Layout,
    extras: tuple[str, ...],
    sent: Arrays,
    groups: Mapping[str, Layout] | None = None,
) -> ClientReply:
    """The reply to the model `sent`; arrays that clients keep private count as unchanged."""
    arrays, up = read_arrays(message, ARRAYS, layout)
    named = {**sent, **arrays}
    vector = layout.pack(named)
    found: dict[str, Vector] = {}
    beside: dict[str, Arrays] = {}
    for key, expected in (groups or {}).items():
        beside[key], more = read_arrays(message, key, expected)
        up += more
    if extras:
        record = _record(message.content, EXTRA, ArrayRecord)
        up += record_bytes(record)
        for name in extras:
            if name not in record or tuple(record[name].shape) != (layout.dim,) or record[name].dtype != "float32":
                raise BadReply(f"its extra array {name!r} is missing or is not a float32 vector of length {layout.dim}")
            found[name] = read_array(record[name])
            if not np.isfinite(found[name]).all():
                raise BadReply(f"its extra array {name!r} holds values that are not finite")
    numbers = read_numbers(message)
    return ClientReply(client, vector, {name: named[name] for name in layout.buffers}, found, numbers, up, beside)


def check_round(message: Message, round: int) -> None:
    """Refuse an answer to another round, however it got here."""
    if not message.has_error() and message.metadata.group_id != str(round):
        raise BadReply(f"it answers round {message.metadata.group_id or 'none'}, not round {round}")


def limit_update(reply: ClientReply, omega: Vector, largest: float) -> bool:
    """Scale theta_i - omega down to the norm `largest`; says whether it was longer. What comes beside the model stays as it is."""
    update = reply.vector.astype(np.float64) - omega
    length = norm(update)
    if length <= largest:
        return False
    reply.vector = (omega + update * (largest / length)).astype(np.float32)
    return True


def read_arrays(message: Message, key: str, layout: Layout) -> tuple[Arrays, int]:
    """One record of arrays, checked against what the layout shares, and its bytes."""
    if message.has_error():
        if message.error.code in UNREACHABLE:
            raise BadReply("its host did not take the message or did not answer it in time")
        raise BadReply(f"the client failed: {first_line(message.error.reason)}")
    record = _record(message.content, key, ArrayRecord)
    _check_declared(record, layout)
    arrays = from_record(record)
    if not all(np.isfinite(value).all() for name, value in arrays.items() if name in layout.parameters):
        raise BadReply("its model holds values that are not finite (NaN or infinity)")
    return arrays, record_bytes(record)


def read_numbers(message: Message) -> dict[str, float]:
    metrics = dict(_record(message.content, METRICS, MetricRecord))
    numbers = {key: float(value) for key, value in metrics.items() if isinstance(value, (int, float))}
    if not numbers.get("num-examples", 0) > 0:
        raise BadReply("it reports no training examples")
    odd = [key for key, value in numbers.items() if not np.isfinite(value)]
    if odd:
        raise BadReply(f"its metric {odd[0]!r} is not finite")
    return numbers


def _record(content: RecordDict, key: str, kind: type[Any]) -> Any:
    record = content.get(key)
    if not isinstance(record, kind):
        raise BadReply(f"it has no {kind.__name__} {key!r}")
    return record


def _check_declared(arrays: ArrayRecord, layout: Layout) -> None:
    """Compare what the arrays say of themselves before any is decoded, so that a huge one costs nothing."""
    if set(arrays) != set(layout.shared):
        odd = sorted(set(arrays) ^ set(layout.shared))
        raise BadReply(f"its arrays have other names: {odd[0]!r} is on one side only")
    for name, shape in layout.shared.items():
        if tuple(arrays[name].shape) != shape:
            raise BadReply(f"its array {name!r} has the shape {tuple(arrays[name].shape)} instead of {shape}")
        if arrays[name].dtype != layout.dtypes[name]:
            raise BadReply(f"its array {name!r} is {arrays[name].dtype} instead of {layout.dtypes[name]}")
        limit = math.prod(shape) * np.dtype(layout.dtypes[name]).itemsize + 4096
        if len(arrays[name].data) > limit:
            raise BadReply(f"its array {name!r} takes {len(arrays[name].data)} bytes, more than its shape needs")


def first_line(text: str | None) -> str:
    """The last line of an error, where the exception is, cut to a readable length."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no reason given"
