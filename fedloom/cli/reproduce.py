"""`fedloom reproduce`: tables that others have published, and our figures beside theirs."""

from __future__ import annotations

import argparse
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from fedloom.cli.flags import AddCommand, add_flags, given_flags
from fedloom.cli.results.report import add_open_flag, show
from fedloom.cli.stopping import INTERRUPTED, loading, stoppable
from fedloom.cli.sweep import SOME_FAILED
from fl_config.errors import ConfigError

if TYPE_CHECKING:
    from simulation.reproduce.verdicts import Ours

RESULTS, RUNS = Path("experiments") / "results", Path("runs") / "reproduce"
SECONDS = {"h": 3600, "m": 60, "s": 1}
HOW = ["engine", "workers", "device", "gpus-per-client", "ray-address"]
WIDE = 200  # characters
LISTED = ("Row", "Data", "Method", "Published", "Ours", "Verdict")


def register(command: AddCommand) -> None:
    parser = command("reproduce", command_reproduce, "run published tables, and put our figures beside theirs")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="rows, by name, by the beginning of it, or as niid-mnist-*"
    )
    parser.add_argument("--list", action="store_true", help="show the rows, ours so far, and the verdicts")
    parser.add_argument(
        "--table",
        metavar="FILE",
        nargs="?",
        const="",
        default=None,
        help="print the table as Markdown, or put it between the two marks of a file",
    )
    parser.add_argument(
        "--seeds", metavar="N", type=int, default=None, help="seeds of each setting (default: each table's own)"
    )
    parser.add_argument(
        "--budget", metavar="TIME", default="", help="stop after so long, such as 3h or 1h30m; the same command goes on"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", default=str(RUNS), help=f"where the runs and the table go (default: {RUNS})"
    )
    parser.add_argument(
        "--results", metavar="FOLDER", default=str(RESULTS), help=f"where results are kept (default: {RESULTS})"
    )
    parser.add_argument(
        "--published", metavar="FILE", action="append", default=[], help="a table of your own instead; may be repeated"
    )
    add_flags(parser, HOW)
    add_open_flag(parser)


def command_reproduce(args: argparse.Namespace) -> int:
    budget = seconds_of(args.budget) if args.budget else None
    with loading():
        from simulation.reproduce.kept_results import read_results
        from simulation.reproduce.published import read_tables, selected
        from simulation.reproduce.verdicts import side_by_side

    every = read_tables([Path(file) for file in args.published])
    rows, results = selected(every, args.names) if args.names else every, Path(args.results)
    if args.list or args.table is not None:
        told = side_by_side(rows, read_results(results), args.seeds)
        if args.list:
            print_rows(told)
        if args.table is not None:
            put_table(told, args.table)
        return 0
    if not args.names:
        raise ConfigError(
            "Name the rows to reproduce, such as fedavg-mnist-iid; `fedloom reproduce --list` shows all of them."
        )
    with loading():
        from simulation.reproduce.beside import write_all
        from simulation.reproduce.making import make_missing
        from simulation.sweep.screen import screen

    how = {key: value for key, value in given_flags(args).items() if key in HOW}
    folder, spent = Path(args.out).resolve(), threading.Event()
    with stoppable() as stop:

        def spend() -> None:
            spent.set()
            stop.set()

        clock = threading.Timer(budget or 0, spend)
        clock.daemon = True
        if budget is not None:
            clock.start()
        try:
            made = make_missing(rows, args.seeds, folder, results, how, screen(), stop)
        finally:
            clock.cancel()
    told = side_by_side(rows, read_results(results), args.seeds)
    page = write_all(told, folder)
    print_rows(told)
    done = f"{made.there} of {made.needed} runs are finished"
    if made.there < made.needed and stop.is_set():
        why = f"The budget of {args.budget} is used up" if spent.is_set() else "Stopped"
        print(f"{why}; {done}. The same command goes on with the rest.", file=sys.stderr)
        return 0 if spent.is_set() else INTERRUPTED
    show(page, args.open)
    for name, problem in made.failed.items():
        print(f"fedloom: {name} failed: {problem}", file=sys.stderr)
    return SOME_FAILED if made.failed else 0


def seconds_of(text: str) -> float:
    """3h, 45m, 90s, or several such after another."""
    found = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise ConfigError(f"--budget is a time such as 3h, 45m or 1h30m, but {text!r} was given.")
    return sum(float(number) * SECONDS[unit] for number, unit in found)


def print_rows(rows: list[Ours]) -> None:
    from rich.console import Console
    from rich.table import Table

    from simulation.reproduce.beside import HEADINGS, cells

    columns = [HEADINGS.index(heading) for heading in LISTED]
    shown = Table(*LISTED, box=None, pad_edge=False)
    for of_row in cells(rows):
        shown.add_row(*(of_row[place] for place in columns))
    # Where nobody has a width, as in a file, a row is one line.
    Console(width=None if sys.stdout.isatty() else WIDE).print(shown)


def put_table(rows: list[Ours], file: str) -> None:
    from simulation.reproduce.beside import as_markdown, put_into

    if file:
        put_into(Path(file), rows)
    else:
        print(as_markdown(rows), end="")
