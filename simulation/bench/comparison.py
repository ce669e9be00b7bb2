"""The bench: the same work through bare PyTorch loops, our engine, Flower's and pfl-research, each in a process of its own.

    ideal     the bare loop's seconds per round, divided by the number of workers
    parallel  as many bare loops side by side as there are workers, each with its share of the cohort, without any exchange
    ours      `fedloom run` on the ray engine
    flower    the same run on Flower's simulation engine, with our client
    pfl       the same work in pfl-research, if it is installed

All are started one after the other, which gives the time to the first round, and then take turns round by round, each waiting
while another works: a slow minute of the machine slows all of them. Seconds are medians of whole rounds after two to warm up,
ratios are medians of the ratios of each turn. Evaluation and checkpoints are off. Memory is the largest sum of PSS over the
processes of a case, looked at while nothing is timed and in two more rounds at the end. What a case cannot do is null.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from simulation.bench.case_process import LOOKS, WARM_UP, Case, SideBySide, ratio
from simulation.bench.workloads import WORKLOADS, check_request, kinds_of, peer_is_there

Figures = dict[str, float | int | None]
WIDTH = 120  # columns of text, in which no figure is cut


def run_workload(name: str, rounds: int, workers: int) -> Figures:
    options = WORKLOADS[name]
    with contextlib.ExitStack() as stack:
        cases: dict[str, Case | SideBySide] = {}
        for how in kinds_of(options, peer_is_there()):
            parallel = how == "parallel"
            cases[how] = SideBySide(options, rounds, workers) if parallel else Case(how, options, rounds, workers)
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
    return figures_of(cases, workers)


def figures_of(cases: dict[str, Any], workers: int) -> Figures:
    def median(how: str) -> float | None:
        return cases[how].median if how in cases else None

    def over(how: str, other: str) -> float | None:
        return ratio(cases[how], cases[other]) if how in cases and other in cases else None

    ideal, beside = median("ideal"), over("ray", "ideal")
    return {
        "ideal_s": None if ideal is None else ideal / workers,
        "parallel_s": median("parallel"),
        "ours_s": median("ray"),
        "flower_s": median("flower"),
        "pfl_s": median("pfl"),
        "ours_over_ideal": None if beside is None else beside * workers,
        "ours_over_parallel": over("ray", "parallel"),
        "flower_over_ours": over("flower", "ray"),
        "pfl_over_ours": over("pfl", "ray"),
        "first_round_s": cases["ray"].first_round,
        "flower_first_round_s": cases["flower"].first_round if "flower" in cases else None,
        "peak_mb": cases["ray"].peak_mb,
        "workers": workers,
    }


def run_bench(workloads: Sequence[str], rounds: int = 10, workers: int = 0) -> dict[str, Figures]:
    """The figures of each workload; `workers` 0 is one per core."""
    check_request(workloads, rounds)
    return {name: run_workload(name, rounds, workers or os.cpu_count() or 1) for name in workloads}


def read_earlier(path: Path) -> dict[str, Figures]:
    """What an earlier bench wrote with --json."""
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--compare {path} cannot be read ({error.strerror}).") from None
    except ValueError:
        earlier = None
    if not isinstance(earlier, dict) or not all(isinstance(values, dict) for values in earlier.values()):
        raise ConfigError(f"--compare {path} is no result of `fedloom bench --json`.")
    return earlier


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ",".join(WORKLOADS)
    parser.add_argument("--workloads", metavar="A,B,...", default=names, help=f"what to measure (default: {names})")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=10, help="rounds that count, after two to warm up (default: 10)"
    )
    parser.add_argument("--workers", metavar="N", type=int, default=0, help="client processes; 0 is one per core")
    parser.add_argument("--json", metavar="FILE", default=None, help="write the figures as JSON")
    parser.add_argument(
        "--compare", metavar="FILE", default=None, help="show what changed against an earlier result (of --json)"
    )


def main(args: argparse.Namespace) -> int:
    from rich.console import Console

    from simulation.bench.figures import changes, line, table

    console = Console()
    names = [name.strip() for name in args.workloads.split(",") if name.strip()]
    figures: dict[str, Figures] = {}
    check_request(names, args.rounds)
    earlier = read_earlier(Path(args.compare)) if args.compare else None  # may be the file that is written below
    for number, name in enumerate(names, start=1):
        with console.status(f"measuring {name} ({number} of {len(names)})"):
            figures |= run_bench([name], args.rounds, args.workers)
        print(f"{name}: {line(figures[name])} ({number} of {len(names)})", flush=True)
        if args.json:
            Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    wide = Console(width=max(console.width, WIDTH))
    wide.print(table(figures))
    if earlier is not None:
        wide.print(changes(figures, earlier))
    return 0
