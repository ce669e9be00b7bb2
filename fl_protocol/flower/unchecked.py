"""Records made without Flower's check of every key and value: for values that came out of a record, or that our own code made.

The checks of a message's thirty values took as long as half a minibatch of a small model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from flwr.app import ArrayRecord, ConfigRecord, MetricRecord, RecordDict

AnyRecord = TypeVar("AnyRecord", ArrayRecord, ConfigRecord, MetricRecord, RecordDict)


def record_of(kind: type[AnyRecord], values: Mapping[str, Any]) -> AnyRecord:
    """A record of this kind with these values."""
    made = kind()
    made.__dict__["_data"].update(values)
    return made
