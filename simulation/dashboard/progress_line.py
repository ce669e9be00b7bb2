"""How far a run is, in numbers and words: rounds, seconds per round, time left, clients that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fl_runs.reading import RunRecord, is_number
from simulation.dashboard.glance import State
from simulation.report.table import duration

RECENT = 10  # rounds by which the time of the next ones is guessed
GRAVEST_FIRST: tuple[State, ...] = ("running", "failed", "stopped")
WORDS: dict[State, str] = {
    "running": "Running",
    "finished": "Finished",
    "stopped": "Stopped",
    "failed": "Failed",
    "unreadable": "Unreadable",
}


@dataclass
class Status:
    """What stands above the pictures of one or several runs."""

    state: State
    word: str
    share: float  # of the planned rounds that are done
    text: str
    problem: str = ""


def status_of(runs: Sequence[RunRecord], states: Sequence[State], problem: str = "") -> Status:
    done = sum(_last_round(run) for run in runs)
    planned = sum(
        run.config["rounds"] if isinstance(run.config.get("rounds"), int) else _last_round(run) for run in runs
    )
    state: State = next((one for one in GRAVEST_FIRST if one in states), "finished")
    parts = []
    if len(runs) == 1:
        parts.append(f"round {done:,} of {planned:,}")
    else:
        finished = sum(one == "finished" for one in states)
        parts.append(f"{finished} of {len(runs)} runs finished, {done:,} of {planned:,} rounds")
    if state == "running":
        parts += _pace([run for run, one in zip(runs, states, strict=True) if one == "running"], len(runs) == 1)
    if dropped := sum(len(line.get("dropped") or []) for run in runs for line in run.metrics):
        parts.append(f"{dropped:,} {'reply' if dropped == 1 else 'replies'} dropped")
    share = min(1.0, done / planned) if planned else 0.0
    return Status(state, WORDS[state], share, " · ".join(parts), problem)


def seconds_per_round(run: RunRecord) -> float | None:
    """The mean of the last rounds."""
    spent = [line["seconds"] for line in run.metrics[-RECENT:] if isinstance(line.get("seconds"), dict)]
    sums = [sum(value for value in one.values() if is_number(value)) for one in spent]
    return float(np.mean(sums)) if sums else None


def _pace(running: Sequence[RunRecord], alone: bool) -> list[str]:
    left = []
    for run in running:
        pace, planned = seconds_per_round(run), run.config.get("rounds")
        if pace is not None and isinstance(planned, int):
            left.append((pace, pace * max(0, planned - _last_round(run))))
    if not left:
        return ["waiting for the first round"] if alone else []
    longest = max(seconds for _, seconds in left)
    told = [f"{duration(left[0][0])} per round"] if alone else []
    whose = "left" if alone else "left for the runs that are going on"
    return [*told, f"about {duration(longest) if longest >= 60 else f'{max(1, round(longest))} s'} {whose}"]


def _last_round(run: RunRecord) -> int:
    return int(run.metrics[-1]["round"]) if run.metrics else 0
