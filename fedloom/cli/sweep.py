"""`fedloom sweep`: every strategy with every point of a grid and every seed, side by side, and a comparison of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fedloom.cli.flags import VISIBLE, AddCommand, add_options, comma_list, given_options
from fedloom.cli.results.report import add_baseline_flag, add_open_flag, show
from fedloom.cli.stopping import INTERRUPTED, loading, stoppable
from fl_strategies.bases import check_names_early

if TYPE_CHECKING:
    from simulation.report.table import Comparison

SOME_FAILED = 1  # exit code
WIDE, LEAST_NEEDED = 130, ("Rounds", "MB", "Time")  # characters of a terminal that has room for all columns
NOT_OF_A_SWEEP = ("strategy", "resume", "state-folder")  # understood, in order to be refused by name


def register(command: AddCommand) -> None:
    parser = command("sweep", command_sweep, "run a grid of strategies, options and seeds, and compare them")
    parser.add_argument(
        "--strategies", metavar="A,B,...", required=True, help="strategies to compare, separated by commas"
    )
    parser.add_argument(
        "--grid",
        metavar="KEY=V1,V2,...",
        action="append",
        default=[],
        help="values to try of an option or of a part's parameter, such as lr=0.05,0.1 or disco.a=0.1,0.5; may be repeated",
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=3,
        help="runs of each strategy and grid point, with seeds --seed, --seed + 1, ... (default: 3)",
    )
    parser.add_argument(
        "--side-by-side", metavar="N", type=int, default=None, help="runs at once (default: what the cores allow)"
    )
    add_baseline_flag(parser)
    add_options(parser, [name for name in VISIBLE if name not in NOT_OF_A_SWEEP])
    for name in NOT_OF_A_SWEEP:
        parser.add_argument(f"--{name}", default=None, help=argparse.SUPPRESS)
    add_open_flag(parser)


def command_sweep(args: argparse.Namespace) -> int:
    values = given_options(args)
    if args.strategy is None:
        values.pop("strategy", None)  # of a file: --strategies is the flag that wins over it
    strategies = comma_list(args.strategies)
    for name in strategies:
        check_names_early(name, own_plugins=bool(values.get("plugin")))
    with loading():
        from simulation.sweep.conduct import PAGE, conduct
        from simulation.sweep.grid import parse_grid
        from simulation.sweep.screen import screen

    grid = parse_grid(args.grid)
    with stoppable() as stop:
        result = conduct(
            values,
            strategies,
            grid,
            args.seeds,
            side_by_side=args.side_by_side,
            baseline=args.baseline,
            screen=screen(),
            stop=stop,
        )
    done = f"{len(result.finished)} of {result.total} runs are finished, in {result.folder}"
    if result.outcome.stopped:
        print(f"Stopped; {done}. The same command goes on with the rest.", file=sys.stderr)
        return INTERRUPTED
    if result.finished:
        print_comparison(result.table(args.baseline))
        show(result.folder / PAGE, args.open)
    for name, problem in result.outcome.failed.items():
        print(f"fedloom: {name} failed: {problem}", file=sys.stderr)
    if result.outcome.failed:
        print(f"fedloom: {done}; the same command tries the others again.", file=sys.stderr)
        return SOME_FAILED
    return 0


def print_comparison(table: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    left_out = LEAST_NEEDED if console.width < WIDE else ()
    columns = [place for place, heading in enumerate(table.headings) if heading not in left_out]
    shown = Table(*(table.headings[place] for place in columns), box=None, pad_edge=False)
    for cells in table.cells():
        shown.add_row(*(cells[place] for place in columns))
    console.print(shown)
