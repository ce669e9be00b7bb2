"""A round costs what its cohort costs, however many clients there are: the same calls, hardly more time, a checkpoint as small."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fl_strategies.checkpoint import FILE
from fl_strategies.round.records import Observer, Record
from simulation import run

pytestmark = pytest.mark.timeout(300)
FEW, MANY, COHORT, ROUNDS = 1_000, 100_000, 4, 6


class Meter(Observer):
    """Function calls, also of built-in functions, and seconds up to the end of each round."""

    def __init__(self) -> None:
        self.calls, self.seen = 0, list[tuple[int, float]]()

    def count(self, frame: Any, event: str, argument: Any) -> None:
        self.calls += event in ("call", "c_call")

    def recorded(self, record: Record) -> None:
        self.seen.append((self.calls, time.process_time()))  # of the processor: machines are busy

    def of_a_round(self) -> tuple[int, float]:
        """The fewest calls and seconds of a round after the first two, which load what later ones have."""
        pairs = list(zip(self.seen[2:], self.seen[3:], strict=False))
        return min(b[0] - a[0] for a, b in pairs), min(b[1] - a[1] for a, b in pairs)


def measured(strategy: str, clients: int, folder: Path) -> tuple[int, float, int]:
    meter = Meter()
    sys.setprofile(meter.count)
    try:
        run(
            {
                "strategy": strategy,
                "dataset": "digits",
                "partition": "drawn:20:0.5",
                "model": "mlp:8",
                "clients": clients,
                "fraction": COHORT / clients,
                "rounds": ROUNDS,
                "batch-size": 20,
                "eval-every": ROUNDS + 1,
                "engine": "inline",
                "out": str(folder),
            },
            [meter],
        )
    finally:
        sys.setprofile(None)
    return *meter.of_a_round(), (folder / "checkpoint" / FILE).stat().st_size


@pytest.mark.parametrize("strategy", ["fedavg", "scaffold", "fedssg+disco"])
def test_a_round_does_not_depend_on_the_population(strategy: str, tmp_path: Path) -> None:
    few, many = (measured(strategy, clients, tmp_path / str(clients)) for clients in (FEW, MANY))
    assert many[0] < 1.3 * few[0], "calls"
    assert many[1] < 3 * few[1] + 0.02, "seconds; a single look at every client takes longer"
    assert many[2] == few[2], "bytes of the checkpoint"
