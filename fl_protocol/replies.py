"""What a client says to the server: one dataclass per reply, the function that packs it, and the one that reads and checks it.

The server believes nothing: names, shapes, types and finite values are checked, and what does not fit is refused with a reason
(`BadReply`). Numbers travel in Flower's own records, so that Flower's strategies can read our clients' replies too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

from fl_config.errors import last_line
from fl_protocol.arrays import from_record, is_finite, num_bytes, read_array, record_bytes, to_record
from fl_protocol.codec import CONFIG, VERSION, configuration
from fl_protocol.flower import RESTARTED, ErrorCode, PlainArray, record_of
from fl_protocol.layout import Layout
from fl_protocol.types import Arrays, ClientId, Vector

ARRAYS, EXTRA, GROUPS, METRICS = "arrays", "extra", "groups", "metrics"
# What Flower says about a message that expired.
UNREACHABLE = (ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE)


class BadReply(ValueError):
    """A reply that cannot be used; the message is the reason."""


# Before round 1


@dataclass
class Introduction:
    """Who a client is. Its class names are empty where they are only numbers, which say nothing."""

    client_id: ClientId
    num_examples: int
    num_classes: int
    sample_shape: list[int]
    parameters: list[str]  # names of the arrays that are trained; the others are buffers
    head: list[str]  # names of the parameters of the model's last layer
    trunk_end: list[str]  # modules that a cluster may have of its own
    class_names: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)  # what the recipe asked for
    protocol: int = VERSION
    site: str = ""  # what its host is called; clients of a simulation have no host of their own
    software: str = ""  # the version of FedLoom there

    def record(self) -> dict[str, Any]:
        """As Flower's properties: plain values, lists as JSON."""
        own = {name: value for name, value in vars(self).items() if name != "numbers"}
        plain = {name: json.dumps(value) if isinstance(value, list) else value for name, value in own.items()}
        return {name.replace("_", "-"): value for name, value in plain.items()} | self.numbers

    @classmethod
    def read(cls, message: Message) -> Introduction:
        if message.has_error():
            raise BadReply(last_line(message.error.reason))
        told = configuration(message.content)
        own: dict[str, Any] = {}
        for name, kind in cls.__annotations__.items():
            key = name.replace("_", "-")
            if name == "numbers":
                continue
            if key not in told:
                raise BadReply(
                    f"it does not say its {key.replace('-', ' ')}: its FedLoom is older or newer than the server's"
                )
            value = told.pop(key)
            own[name] = json.loads(str(value)) if kind.startswith("list") else value
        if own["protocol"] != VERSION:
            raise BadReply(f"it speaks version {own['protocol']} of the protocol, the server version {VERSION}")
        return cls(**own, numbers={key: float(value) for key, value in told.items() if isinstance(value, (int, float))})


def told_names(names: Sequence[str]) -> list[str]:
    """Class names as they are compared; none where they are only numbers, which say nothing."""
    return list(names) if any(not name.isdigit() for name in names) else []


@dataclass
class MaskedPart:
    """A client's part of a secure sum: at first its public key, then its vector under masks."""

    public_key: bytes = b""
    masked: bytes = b""

    def record(self) -> dict[str, Any]:
        return {"public-key": self.public_key} if self.public_key else {"masked": self.masked}

    @classmethod
    def read(cls, message: Message, wanted: str) -> bytes:
        if message.has_error():
            raise BadReply(last_line(message.error.reason))
        value = configuration(message.content).get(wanted)
        if not isinstance(value, bytes):
            raise BadReply(f"it sent no {wanted}")
        return value


@dataclass
class Probed:
    """How a client's head moved in one round of plain training, and a checksum of the model that it started from."""

    update: Arrays
    metrics: dict[str, float]
    bytes: int = 0

    def pack(self) -> RecordDict:
        return RecordDict({ARRAYS: to_record(self.update), METRICS: MetricRecord(dict(self.metrics))})

    @classmethod
    def read(cls, message: Message, head: Layout) -> Probed:
        update, size = read_arrays(message, ARRAYS, head)
        numbers = read_numbers(message)
        if not {"steps", "initial-checksum"} <= numbers.keys():
            raise BadReply("its measurement lacks the number of steps or the initial model's checksum")
        return cls(update, numbers, size)


# Every round


@dataclass
class Trained:
    """What came of a client's training, as it sends it."""

    arrays: Arrays
    metrics: dict[str, float]
    extra: Arrays = field(default_factory=dict)
    groups: dict[str, Arrays] = field(default_factory=dict)

    def pack(self) -> RecordDict:
        plain = all(type(value) in (int, float) for value in self.metrics.values())  # else Flower says what is wrong
        metrics = record_of(MetricRecord, self.metrics) if plain else MetricRecord(dict(self.metrics))
        content: dict[str, Any] = {ARRAYS: to_record(self.arrays), METRICS: metrics}
        if self.extra:
            content[EXTRA] = to_record(self.extra)
        content |= {f"{GROUPS}:{name}": to_record(group) for name, group in self.groups.items()}
        return record_of(RecordDict, content)


@dataclass
class ClientReply:
    """The same as the server reads it: checked, with the parameters as one vector."""

    client: ClientId
    vector: Vector  # theta_i
    buffers: Arrays
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
    extras: Sequence[str],
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
        beside[key], more = read_arrays(message, f"{GROUPS}:{key}", expected)
        up += more
    if extras:
        record = _record(message.content, EXTRA, ArrayRecord)
        up += record_bytes(record)
        for name in extras:
            if name not in record or tuple(record[name].shape) != (layout.dim,) or record[name].dtype != "float32":
                raise BadReply(f"its extra array {name!r} is missing or is not a float32 vector of length {layout.dim}")
            found[name] = read_array(record[name])
            if not is_finite(record[name]):
                raise BadReply(f"its extra array {name!r} holds values that are not finite")
    numbers = read_numbers(message)
    return ClientReply(client, vector, {name: named[name] for name in layout.buffers}, found, numbers, up, beside)


@dataclass
class Scored:
    """How well a client's model does on its held-out data."""

    num_examples: int
    loss: float
    metrics: dict[str, float]

    def pack(self) -> RecordDict:
        return RecordDict(
            {METRICS: MetricRecord({"num-examples": self.num_examples, "loss": self.loss, **self.metrics})}
        )

    @classmethod
    def read(cls, message: Message) -> Scored:
        if message.has_error():
            raise BadReply(last_line(message.error.reason))
        numbers = dict(_record(message.content, METRICS, MetricRecord))
        return cls(int(numbers.pop("num-examples", 0)), float(numbers.pop("loss", math.nan)), numbers)


def check_round(message: Message, round: int) -> None:
    """Refuse an answer to another round, however it got here."""
    if not message.has_error() and message.metadata.group_id != str(round):
        raise BadReply(f"it answers round {message.metadata.group_id or 'none'}, not round {round}")


def properties(reply: Introduction | MaskedPart) -> RecordDict:
    """A reply to a query."""
    return RecordDict({CONFIG: ConfigRecord(reply.record())})


# Checks


def check_answered(message: Message) -> None:
    """Refuse an error in place of an answer."""
    if message.has_error():
        if message.error.code == ErrorCode.NODE_UNAVAILABLE:
            gone = "its host is gone: two of its heartbeats were missed"
            raise BadReply(RESTARTED if message.error.reason == RESTARTED else gone)
        if message.error.code in UNREACHABLE:
            raise BadReply("its host did not take the message or did not answer it in time")
        raise BadReply(f"the client failed: {last_line(message.error.reason)}")


def read_arrays(message: Message, key: str, layout: Layout) -> tuple[Arrays, int]:
    """One record of arrays, checked against what the layout shares, and its bytes."""
    check_answered(message)
    record = dict(_record(message.content, key, ArrayRecord).items())
    _check_declared(record, layout)
    if not all(is_finite(array) for name, array in record.items() if name in layout.trained):
        raise BadReply("its model holds values that are not finite (NaN or infinity)")
    return from_record(record), record_bytes(record)


def read_numbers(message: Message) -> dict[str, float]:
    metrics = _record(message.content, METRICS, MetricRecord).items()
    numbers = {key: float(value) for key, value in metrics if isinstance(value, (int, float))}
    if not numbers.get("num-examples", 0) > 0:
        raise BadReply("it reports no training examples")
    odd = [key for key, value in numbers.items() if not math.isfinite(value)]
    if odd:
        raise BadReply(f"its metric {odd[0]!r} is not finite")
    return numbers


def _record(content: RecordDict, key: str, kind: type[Any]) -> Any:
    record = content.get(key)
    if not isinstance(record, kind):
        raise BadReply(f"it has no {kind.__name__} {key!r}")
    return record


def _check_declared(arrays: Mapping[str, Array], layout: Layout) -> None:
    """Compare what the arrays say of themselves before any is decoded, so that a huge one costs nothing."""
    if arrays.keys() != layout.shared.keys():
        odd = sorted(arrays.keys() ^ layout.shared.keys())
        raise BadReply(f"its arrays have other names: {odd[0]!r} is on one side only")
    for name, shape in layout.shared.items():
        array = arrays[name]
        if tuple(array.shape) != shape:
            raise BadReply(f"its array {name!r} has the shape {tuple(array.shape)} instead of {shape}")
        if array.dtype != layout.dtypes[name]:
            raise BadReply(f"its array {name!r} is {array.dtype} instead of {layout.dtypes[name]}")
        if isinstance(array, PlainArray):
            continue  # has the numbers that its shape says
        limit = math.prod(shape) * np.dtype(layout.dtypes[name]).itemsize + 4096
        if num_bytes(array) > limit:
            raise BadReply(f"its array {name!r} takes {num_bytes(array)} bytes, more than its shape needs")
