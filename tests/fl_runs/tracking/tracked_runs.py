"""What the tests of the trackers share: a small run that is tracked, one that is stopped and resumed, and the numbers of its records."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from fl_runs.tracking.base import numbers_of
from fl_strategies.round.records import Observer, Record
from simulation import Run, run

ROUNDS = 4
SMALL: dict[str, Any] = {
    "dataset": "digits",
    "model": "mlp:8",
    "strategy": "feddisco",
    "clients": 3,
    "rounds": ROUNDS,
    "engine": "inline",
    "disco.a": 0.3,
}


class StopAfter(Observer):
    def __init__(self, round: int) -> None:
        self.round, self.stop = round, threading.Event()

    def recorded(self, record: Record) -> None:
        if record["round"] == self.round:
            self.stop.set()


def tracked(out: Path, track: str, **options: Any) -> Run:
    return run({**SMALL, **options, "out": str(out), "track": track})


def stopped(out: Path, track: str, after: int = 2) -> Run:
    watch = StopAfter(after)
    left = run({**SMALL, "out": str(out), "track": track}, [watch], watch.stop)
    assert not left.finished and left.rounds == after
    return left


def curves(folder: Path) -> dict[str, dict[int, float]]:
    """Key to round to number, by metrics.jsonl."""
    found: dict[str, dict[int, float]] = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        for key, value in numbers_of(record).items():
            found.setdefault(key, {})[record["round"]] = value
    assert set(found["global/accuracy"]) == set(range(ROUNDS + 1)) and "seconds/train" in found and "bytes_up" in found
    return found
