"""What a run says about itself as it goes: observers get one record per round, and small signs of life in between."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = dict[str, Any]


class Observer:
    """Base of everything that watches a run (files, progress bar, tests); override what is needed."""

    def joined(self, client: Any, about: Record) -> None:
        """A client has introduced itself: its examples, its node, and the name and the FedLoom of its site ("" in a simulation)."""

    def started(self, info: Record) -> None:
        """Once, when the population is known: strategy, clients, rounds, first_round."""

    def replied(self, round: int, done: int, total: int) -> None:
        """After each reply of a round."""

    def recorded(self, record: Record) -> bool | None:
        """After each round (and once before the first, with round 0): the line of metrics.jsonl. True ends the run here."""

    def dropped(self, round: int, client: Any, reason: str) -> None:
        """A client whose reply was not used."""

    def ended(self, summary: Record) -> None:
        """Once, when the run folder is complete: summary.json, also of a run that was stopped (`finished` is false then)."""


class Journal:
    """The record of the round that is going on, and the observers that are told of it."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = observers
        self.record: Record = {}

    def begin(self, round: int) -> None:
        self.record = {"round": round, "seconds": {}} if round else {"round": 0}

    def note(self, numbers: Mapping[str, Any]) -> None:
        self.record |= numbers

    def count(self, key: str, amount: int) -> None:
        self.record[key] = self.record.get(key, 0) + amount

    def tell(self, event: str, *details: Any) -> bool:
        """Tell all observers; says whether one of them answered yes."""
        return any([getattr(observer, event)(*details) for observer in self.observers])

    @contextlib.contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time spent inside to one phase of the round."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = self.record.setdefault("seconds", {})
            seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - start


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NumPy scalars and arrays unpacked, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
