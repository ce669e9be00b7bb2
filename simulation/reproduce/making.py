"""Making the runs that published rows need and that are not there yet: one after the other, each in a process of its own.

A run that was stopped or killed goes on where it was. Its result is kept as soon as it is finished, so that nothing but the open run is
lost with this process, and of that one nothing but the round.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from simulation.reproduce.kept_results import begin_session, collect, read_results, run_name
from simulation.reproduce.published import Row, Setting
from simulation.reproduce.verdicts import of_setting
from simulation.runner import prepare
from simulation.sweep.conduct import order_for
from simulation.sweep.crews import Crews
from simulation.sweep.grid import Job
from simulation.sweep.ledger import alone_in, is_finished
from simulation.sweep.screen import Screen


@dataclass
class Made:
    """How it went: runs that are needed, those that are there, and what went wrong with others."""

    needed: int
    there: int
    failed: dict[str, str] = field(default_factory=dict)


def needed_runs(rows: Sequence[Row], seeds: int | None) -> dict[str, tuple[Setting, int]]:
    """Every run of these rows by its name; first seeds come first, so that a budget gives every row something."""
    if seeds is not None and seeds < 1:
        raise ConfigError(f"--seeds is how many runs each setting gets, at least 1, but {seeds} was given.")
    most = seeds or max(row.seeds for row in rows)
    return {
        run_name(setting, row.seed + number): (setting, row.seed + number)
        for number in range(most)
        for row in rows
        for setting in row.settings
        if number < (seeds or row.seeds)
    }


def make_missing(
    rows: Sequence[Row],
    seeds: int | None,
    folder: Path,
    results: Path,
    how: Mapping[str, Any],
    screen: Screen,
    stop: threading.Event,
) -> Made:
    """Make what is missing until `stop` is set; raises ConfigError before anything starts."""
    runs = needed_runs(rows, seeds)
    known = read_results(results)
    missing = {name: one for name, one in runs.items() if name not in known}
    for setting, seed in missing.values():
        prepare({**setting.values, **how, "seed": seed, "out": str(folder)})
    _check_scores(rows)
    made = Made(len(runs), len(runs) - len(missing))
    with alone_in(folder, "`fedloom reproduce`"), screen:
        screen.opens(len(runs), made.there)
        for name, (setting, seed) in missing.items():
            if stop.is_set():
                break
            if not is_finished(folder / name):
                begin_session(folder, name)
                job = Job(name, {**setting.values, "seed": seed})
                outcome = Crews(folder, screen, stop).make([order_for(job, folder, how)], 1)
                made.failed |= outcome.failed
            if is_finished(folder / name):
                collect(folder, setting, seed, results)
                made.there += 1
    _check_recorded(rows, results)
    return made


def _check_scores(rows: Sequence[Row]) -> None:
    """See that a row's setting records what the row measures."""
    for row in rows:
        model = row.score.partition("/")[0]
        if model in ("cohort", "population"):
            odd = next((one for one in row.settings if model not in str(one.values.get("score", ""))), None)
            if odd is not None:
                raise ConfigError(
                    f"The row {row.name} measures {row.score}, but its setting lacks score = 'server,{model}'."
                )


def _check_recorded(rows: Sequence[Row], results: Path) -> None:
    known = read_results(results)
    for row in rows:
        for setting in row.settings:
            made = [result for result in known.values() if result.name == run_name(setting, result.seed)]
            if made and not of_setting(row, setting, known):
                raise ConfigError(
                    f"The row {row.name} measures {row.score}, which its runs do not record; they have {', '.join(made[0].curves)}."
                )
