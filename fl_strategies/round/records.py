"""What a run says about itself as it goes: observers get one record per round, and small signs of life in between."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]


class Observer:
    """Base of everything that watches a run (files, progress bar, tests); override what is needed."""

    def started(self, info: Record) -> None:
        """Once, when the population is known: strategy, clients, rounds, first_round."""

    def replied(self, round: int, done: int, total: int) -> None:
        """After each reply of a round."""

    def recorded(self, record: Record) -> None:
        """After each round (and once before the first, with round 0): the line of metrics.jsonl."""

    def dropped(self, round: int, client: Any, reason: str) -> None:
        """A client whose reply was not used."""


class Timed:
    """Adds the time spent inside to one phase of a round's record."""

    def __init__(self, seconds: dict[str, float], phase: str) -> None:
        self.seconds, self.phase = seconds, phase

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + time.perf_counter() - self.start


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
