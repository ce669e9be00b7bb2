"""The bench: the same work through a bare PyTorch loop, our engine and Flower's, one after the other in fresh processes.

    ideal   the bare loop's seconds a round, divided by the number of workers
    ours    `fedloom run` on the ray engine
    flower  the same run on Flower's simulation engine, with our client

Seconds are medians of whole rounds after two to warm up, without evaluation and checkpoint; memory is the largest sum of PSS over
the processes of a run; the first round's time is counted from the start of the process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_config.params import ConfigError, nearest
from simulation.process_memory import peak_memory

WARM_UP, LAST = 2, 1  # rounds that do not count: the first ones, and the last, which evaluates
IMAGES = {"strategy": "fedavg", "dataset": "fashion-mnist", "partition": "iid", "epochs": 1, "batch-size": 50}
MANY = {**IMAGES, "model": "mlp:200,200", "clients": 500, "fraction": 0.02}
WORKLOADS: dict[str, dict[str, Any]] = {
    "lenet-100x10": {**IMAGES, "model": "lenet", "clients": 100, "fraction": 0.1},
    "mlp-500x10": MANY,
    "cnn64-100x10": {**IMAGES, "model": "cnn64", "clients": 100, "fraction": 0.1},
    "state-500x10": {**MANY, "strategy": "fedssg"},
    "idle-1000x100": {},  # no options: simulation.bench_idle
}
Figures = dict[str, float | int | None]


@dataclass
class Measured:
    """One case: seconds of each counted round, of the start to the end of round 1, and the peak of memory in MB."""

    rounds: list[float]
    first_round: float
    peak_mb: float

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


def measure(how: str, options: Mapping[str, Any], rounds: int, workers: int) -> Measured:
    """Run a case in a process of its own and watch it."""
    case = {"how": how, "options": dict(options), "rounds": rounds + WARM_UP + LAST, "workers": workers}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "simulation.bench_case", json.dumps(case)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path]).lstrip(os.pathsep)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaints: list[str] = []
    listener = threading.Thread(target=complaints.extend, args=(process.stderr,), daemon=True)
    listener.start()
    ends, seconds = [], []
    with peak_memory(process.pid) as peak:
        for line in process.stdout:
            if line.startswith('{"round"'):
                ends.append(time.perf_counter())
                seconds.append(json.loads(line).get("seconds"))
    process.wait()
    listener.join()
    if process.returncode or len(ends) < case["rounds"]:  # type: ignore[operator]
        raise RuntimeError(f"The case {case} ended after {len(ends)} rounds:\n{''.join(complaints[-20:])}")
    own = [after - before for before, after in itertools.pairwise(ends)]
    counted = seconds[WARM_UP:-LAST] if seconds[0] is not None else own[WARM_UP - 1 : -LAST]
    return Measured(counted, ends[0] - began, peak.mb)


def run_workload(name: str, rounds: int, workers: int) -> Figures:
    options = WORKLOADS[name]
    ideal = measure("ideal", options, rounds, workers).median / workers if options else None
    ours = measure("ray", options, rounds, workers)
    flower = measure("flower", options, rounds, workers)
    return {
        "ideal_s": ideal,
        "ours_s": ours.median,
        "flower_s": flower.median,
        "ours_over_ideal": ours.median / ideal if ideal else None,
        "flower_over_ours": flower.median / ours.median,
        "first_round_s": ours.first_round,
        "flower_first_round_s": flower.first_round,
        "peak_mb": ours.peak_mb,
        "flower_peak_mb": flower.peak_mb,
        "workers": workers,
    }


def check_request(workloads: Sequence[str], rounds: int) -> None:
    for name in workloads:
        if name not in WORKLOADS:
            known = ", ".join(WORKLOADS)
            raise ConfigError(f"There is no workload {name!r}{nearest(name, WORKLOADS)} There are {known}.")
    if not workloads or rounds < 1:
        raise ConfigError("The bench needs at least one workload and one round.")


def run_bench(workloads: Sequence[str], rounds: int = 10, workers: int = 0) -> dict[str, Figures]:
    """The figures of each workload; `workers` 0 is one a core."""
    check_request(workloads, rounds)
    return {name: run_workload(name, rounds, workers or os.cpu_count() or 1) for name in workloads}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ",".join(WORKLOADS)
    parser.add_argument("--workloads", metavar="A,B,...", default=names, help=f"what to measure (default: {names})")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=10, help="rounds that count, after two to warm up (default: 10)"
    )
    parser.add_argument("--workers", metavar="N", type=int, default=0, help="client processes; 0 is one a core")
    parser.add_argument("--json", metavar="FILE", default=None, help="write the figures as JSON")


def main(args: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console()
    names = [name.strip() for name in args.workloads.split(",") if name.strip()]
    figures: dict[str, Figures] = {}
    check_request(names, args.rounds)
    for name in names:
        with console.status(f"measuring {name}"):
            figures |= run_bench([name], args.rounds, args.workers)
        if args.json:
            Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    console.print(table(figures))
    return 0


def table(figures: Mapping[str, Figures]) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table

    columns = {
        "ideal_s": "ideal", "ours_s": "ours", "flower_s": "flower", "ours_over_ideal": "ours /\nideal",
        "flower_over_ours": "flower\n/ ours", "first_round_s": "first\nround", "flower_first_round_s": "flower's\nfirst",
        "peak_mb": "peak\nMB", "flower_peak_mb": "flower's\npeak",
    }  # fmt: skip
    shown = Table(title="median seconds a round", box=SIMPLE, padding=(0, 0))
    shown.add_column("workload", no_wrap=True)
    for heading in columns.values():
        shown.add_column(heading, justify="right")
    for name, values in figures.items():
        cells = []
        for key in columns:
            value = values[key]
            digits = 0 if key.endswith("mb") else 1 if "first" in key else 2 if "over" in key else 3
            cells.append("-" if value is None else f"{value:.{digits}f}")
        shown.add_row(name, *cells)
    return shown
