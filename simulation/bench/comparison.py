"""The bench: the same work through a bare PyTorch loop, our engine and Flower's, each in a process of its own.

    ideal   the bare loop's seconds a round, divided by the number of workers
    ours    `fedloom run` on the ray engine
    flower  the same run on Flower's simulation engine, with our client

The three are started one after the other, which gives the time to the first round, and then take turns round by round, each waiting
while another works: a slow minute of the machine slows all of them. Seconds are medians of whole rounds after two to warm up,
ratios the medians of the ratios of each turn. Evaluation and checkpoints are off. Memory is the largest sum of PSS over the
processes of a case, looked at while nothing is timed and in two more rounds at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError, nearest
from simulation.bench.process_memory import alive, family, peak_memory

WARM_UP = 2  # rounds that do not count
LOOKS = 2  # rounds after those that count, in which memory is looked at
PATIENCE = 20  # seconds that a process has to end
LAST = 1  # the last round evaluates and is never asked for
IMAGES = {"strategy": "fedavg", "dataset": "fashion-mnist", "partition": "iid", "epochs": 1, "batch-size": 50}
MANY = {**IMAGES, "model": "mlp:200,200", "clients": 500, "fraction": 0.02}
WORKLOADS: dict[str, dict[str, Any]] = {
    "lenet-100x10": {**IMAGES, "model": "lenet", "clients": 100, "fraction": 0.1},
    "mlp-500x10": MANY,
    "cnn64-100x10": {**IMAGES, "model": "cnn64", "clients": 100, "fraction": 0.1},
    "state-500x10": {**MANY, "strategy": "fedssg"},
    "idle-1000x100": {},  # no options: simulation.bench.idle
}
Figures = dict[str, float | int | None]


class Case:
    """A run in a process of its own that does one round when it is told to."""

    def __init__(self, how: str, options: Mapping[str, Any], rounds: int, workers: int) -> None:
        case = {"how": how, "options": dict(options), "rounds": rounds + WARM_UP + LOOKS + LAST, "workers": workers}
        self.description = f"{how} {dict(options)}"
        self.seconds: list[float] = []
        self.peak_mb = 0.0
        self._complaints: deque[str] = deque(maxlen=20)
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "simulation.bench.case", json.dumps(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path]).lstrip(os.pathsep)},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self._go()
        except BaseException:
            self.close()
            raise
        self.first_round = time.perf_counter() - began

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._complaints.extend(self.process.stderr)

    def _go(self) -> None:
        """Let the case do its next round."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        if not any(line.startswith('{"round"') for line in self.process.stdout):
            self.process.wait()
            self._listener.join()
            raise RuntimeError(
                f"The case {self.description} ended after {len(self.seconds)} rounds:\n{''.join(self._complaints)}"
            )

    def round(self) -> None:
        """A round that counts."""
        began = time.perf_counter()
        self._go()
        self.seconds.append(time.perf_counter() - began)

    def look(self) -> None:
        """A round in which memory is looked at, which takes the processes' time."""
        with peak_memory(self.process.pid) as peak:
            self._go()
        self.peak_mb = max(self.peak_mb, peak.mb)

    def close(self) -> None:
        """End the case and everything it started."""
        members = family(self.process.pid)
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        for pid in members - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + PATIENCE
        while any(map(alive, members)) and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def ratio(of: Case, to: Case) -> float:
    """The median over the turns of one case's seconds divided by another's."""
    return statistics.median(a / b for a, b in zip(of.seconds, to.seconds, strict=True))


def run_workload(name: str, rounds: int, workers: int) -> Figures:
    options = WORKLOADS[name]
    kinds = ["ideal", "ray", "flower"] if options else ["ray", "flower"]
    with contextlib.ExitStack() as stack:
        cases: dict[str, Case] = {}
        for how in kinds:
            cases[how] = Case(how, options, rounds, workers)
            stack.callback(cases[how].close)
        for _ in range(WARM_UP - 1):
            for case in cases.values():
                case.look()
        for _ in range(rounds):
            for case in cases.values():
                case.round()
        for _ in range(LOOKS):
            for case in cases.values():
                case.look()
    ideal, ours, flower = cases.get("ideal"), cases["ray"], cases["flower"]
    return {
        "ideal_s": ideal.median / workers if ideal else None,
        "ours_s": ours.median,
        "flower_s": flower.median,
        "ours_over_ideal": ratio(ours, ideal) * workers if ideal else None,
        "flower_over_ours": ratio(flower, ours),
        "first_round_s": ours.first_round,
        "flower_first_round_s": flower.first_round,
        "peak_mb": ours.peak_mb,
        "flower_peak_mb": flower.peak_mb,
        "rounds": rounds,
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
