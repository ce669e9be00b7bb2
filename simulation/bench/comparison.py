"""The bench: the same work through a bare PyTorch loop, our engine and Flower's, each in a process of its own.

    ideal   the bare loop's seconds per round, divided by the number of workers
    ours    `fedloom run` on the ray engine
    flower  the same run on Flower's simulation engine, with our client

The three are started one after the other, which gives the time to the first round, and then take turns round by round, each waiting
while another works: a slow minute of the machine slows all of them. Seconds are medians of whole rounds after two to warm up,
ratios are medians of the ratios of each turn. Evaluation and checkpoints are off. Memory is the largest sum of PSS over the
processes of a case, looked at while nothing is timed and in two more rounds at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from simulation.bench.case_process import LOOKS, WARM_UP, Case, ratio
from simulation.bench.workloads import WORKLOADS, check_request

Figures = dict[str, float | int | None]


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


def run_bench(workloads: Sequence[str], rounds: int = 10, workers: int = 0) -> dict[str, Figures]:
    """The figures of each workload; `workers` 0 is one per core."""
    check_request(workloads, rounds)
    return {name: run_workload(name, rounds, workers or os.cpu_count() or 1) for name in workloads}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ",".join(WORKLOADS)
    parser.add_argument("--workloads", metavar="A,B,...", default=names, help=f"what to measure (default: {names})")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=10, help="rounds that count, after two to warm up (default: 10)"
    )
    parser.add_argument("--workers", metavar="N", type=int, default=0, help="client processes; 0 is one per core")
    parser.add_argument("--json", metavar="FILE", default=None, help="write the figures as JSON")


def main(args: argparse.Namespace) -> int:
    from rich.console import Console

    from simulation.bench.figures import table

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
