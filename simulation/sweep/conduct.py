"""A whole sweep: what its runs are, which are still to be made, making them, and the table of all."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import HOW, Options, role_of
from fl_runs.folder import CONFIG
from fl_runs.reading import read_runs
from simulation.engines.gpu.wishes import whole_gpus
from simulation.report.export import write_tables
from simulation.report.page import write_report
from simulation.report.table import Comparison, comparison
from simulation.runner import prepare
from simulation.sweep.crews import Crews, Outcome
from simulation.sweep.grid import Grid, Job, jobs_of
from simulation.sweep.ledger import alone_in, clear_drafts, definition, is_finished, open_folder
from simulation.sweep.screen import Screen

PAGE, CSV, LATEX = "report.html", "table.csv", "table.tex"


@dataclass
class SweepResult:
    """What a sweep left: its folder, its finished runs in order, and how the others went."""

    folder: Path
    finished: list[Path]
    outcome: Outcome
    total: int

    def table(self, baseline: str = "") -> Comparison:
        return comparison(read_runs(self.finished), baseline)


def conduct(
    values: Mapping[str, Any],
    strategies: Sequence[str],
    grid: Grid,
    seeds: int,
    *,
    side_by_side: int | None = None,
    baseline: str = "",
    screen: Screen,
    stop: threading.Event | None = None,
) -> SweepResult:
    """Make every run of the sweep that is not finished yet; raises ConfigError before anything starts.

    The same definition in the same folder goes on with what is there. Without `out`, the folder is named after the definition.
    """
    given = {key if "." in key else key.replace("_", "-"): value for key, value in values.items()}
    jobs = jobs_of(given, strategies, grid, seeds)
    plans = [prepare(job.values) for job in jobs]  # so that every mistake is told before the first run
    if baseline and baseline not in strategies:
        raise ConfigError(f"The baseline {baseline!r} is none of the strategies: {', '.join(strategies)}.")
    sources = ", ".join(dict.fromkeys(plan.config.sources for plan in plans if plan.config.sources))
    sweep = definition(given, strategies, grid, seeds, sources)
    folder = Path(given.get("out") or default_folder(sweep)).resolve()
    at_once = _checked(side_by_side) if side_by_side is not None else room_for(plans[0].config)
    with alone_in(folder):
        open_folder(folder, sweep, jobs)
        open_jobs = [job for job in jobs if not is_finished(folder / job.name)]
        how = {key: value for key, value in given.items() if role_of(key) == HOW}
        if at_once > 1 and not plans[0].config.workers:
            how["workers"] = max(1, cores() // at_once)
        with screen:
            screen.opens(len(jobs), len(jobs) - len(open_jobs))
            orders = [order_for(job, folder, how) for job in open_jobs]
            outcome = Crews(folder, screen, stop or threading.Event()).make(orders, at_once)
        done = [folder / job.name for job in jobs if is_finished(folder / job.name)]
        result = SweepResult(folder, done, outcome, len(jobs))
        if done and not outcome.stopped:
            write_report(done, folder / PAGE, baseline=baseline)
            write_tables(result.table(baseline), folder / CSV, folder / LATEX)
    return result


def default_folder(sweep: Mapping[str, Any]) -> Path:
    return Path("runs") / f"sweep-{hashlib.sha256(json.dumps(sweep, sort_keys=True).encode()).hexdigest()[:8]}"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def room_for(config: Options) -> int:
    """How many runs the cores allow at once: an inline run takes one core, others their workers, which by default are all cores.

    What GPUs or a cluster of others' have room for is not known here: one.
    """
    if config.ray_address or whole_gpus(config):
        return 1
    each = 1 if config.engine == "inline" else config.workers or cores()
    return max(1, cores() // each)


def order_for(job: Job, folder: Path, how: Mapping[str, Any]) -> Job:
    """The job with its folder: begun, or gone on with where it was."""
    place = folder / job.name
    clear_drafts(place)
    if (place / CONFIG).exists():
        return Job(job.name, {"resume": str(place), **how})
    return Job(job.name, {**job.values, **how, "out": str(place)})


def _checked(side_by_side: int) -> int:
    if side_by_side < 1:
        raise ConfigError(f"--side-by-side is how many runs go on at once, at least 1, but {side_by_side} was given.")
    return side_by_side
