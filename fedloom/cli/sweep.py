"""`fedloom sweep`: every strategy with every seed, and a comparison of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedloom.cli.flags import AddCommand, add_options, comma_list, given_options
from fedloom.cli.report import add_open_flag, show
from fedloom.cli.stopping import INTERRUPTED, stoppable
from fl_config.errors import ConfigError
from fl_config.options import options


def register(command: AddCommand) -> None:
    parser = command("sweep", command_sweep, "run a grid of strategies and seeds, and compare them")
    parser.add_argument(
        "--strategies", metavar="A,B,...", required=True, help="strategies to compare, separated by commas"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=3,
        help="runs of each strategy, with seeds --seed, --seed + 1, ... (default: 3)",
    )
    add_options(parser)
    add_open_flag(parser)


def command_sweep(args: argparse.Namespace) -> int:
    values = given_options(args)
    out = Path(values.get("out") or "runs/sweep")
    runs = grid(values, comma_list(args.strategies), args.seeds, out)
    from fl_runs.progress import progress
    from simulation.report.page import write_report
    from simulation.runner import prepare, run

    for one in runs:
        prepare(one)  # so that every mistake is told before the first run
    folders: list[Path] = []
    with stoppable() as stop:
        for number, one in enumerate(runs, start=1):
            print(f"[{number}/{len(runs)}] {one['strategy']}, seed {one['seed']}", flush=True)
            with progress() as shown:
                result = run(one, [shown], stop)
            if not result.finished:
                print(f"Stopped; {len(folders)} of {len(runs)} runs are finished, in {out}.", file=sys.stderr)
                return INTERRUPTED
            folders.append(result.folder)
    report = write_report(folders, out / "report.html")
    print_comparison(folders)
    show(report, args.open)
    return 0


def grid(values: dict[str, Any], strategies: Sequence[str], seeds: int, out: Path) -> list[dict[str, Any]]:
    """The options of every run of a sweep, each with a folder of its own under `out`."""
    if seeds < 1 or not strategies:
        raise ConfigError("A sweep needs at least one strategy and one seed: --strategies fedavg,feddisco --seeds 3.")
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"The output folder {out} is not empty: choose another --out for the sweep.")
    first = options({"seed": values.get("seed", 0)}).seed
    return [
        {**values, "strategy": name, "seed": seed, "out": str(out / f"{name}-seed{seed}")}
        for name in strategies
        for seed in range(first, first + seeds)
    ]


def print_comparison(folders: Sequence[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    from fl_runs.reading import read_runs
    from simulation.report.table import comparison_table, headings_of

    runs = read_runs(folders)
    table = Table(*headings_of(runs), box=None, pad_edge=False)
    for row in comparison_table(runs):
        table.add_row(*row.cells())
    Console().print(table)
