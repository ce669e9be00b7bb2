"""`fedloom deploy status`: the sites and the runs of a federation as two tables, or as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.connection import authority_file
from fedloom.cli.deploy.arguments import SERVER_FOLDER, add_control, add_keys, control
from fedloom.cli.deploy.renew import served
from fedloom.cli.flags import AddCommand

if TYPE_CHECKING:
    from rich.table import Table

    from deploy.overview import Overview, Run, Site

UNKNOWN, NEVER_SEEN = "-", "never seen"
SITE_COLUMNS = ("site", "state", "since", "FedLoom", "examples", "last answer", "left out")
RUN_COLUMNS = ("run", "folder", "strategy", "state", "round", "score", "time left")
WIDE = 200  # columns, where the output is no terminal
NO_SITE = "No site is registered yet: `fedloom deploy register NAME.pub` lets one in by its public key."
NO_RUN = "No run was submitted yet: `fedloom deploy submit` starts one."
COLOURS = {"online": "green", "running": "green", "completed": "green", "offline": "yellow", "failed": "red"}
COLOURS |= {"revoked": "red", "stopped": "yellow"}


def register(action: AddCommand) -> None:
    parser = action("status", command_status, "show the sites and the runs of the federation")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=SERVER_FOLDER,
        help=f"the server's folder, on its host: rounds and figures are read there (default: {SERVER_FOLDER})",
    )
    add_control(parser, "the server's address for submitting")
    add_keys(parser, "a folder with ca.crt, or the whole federation's")


def command_status(args: argparse.Namespace) -> int:
    from deploy.overview import Overview

    with control(args) as server:
        overview = Overview.of(server.nodes(), server.runs(), Path(args.folder))
    expiring = None if args.insecure else served(args.control, authority_file(Path(args.keys)))
    if args.json:
        print(overview.to_json(warnings=[expiring] if expiring else []))
        return 0
    show(overview, datetime.now(UTC))
    if expiring:
        print(f"\nWarning: {expiring}")
    return 0


def show(overview: Overview, now: datetime) -> None:
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    if overview.sites:
        console.print(table(SITE_COLUMNS, [site_row(site, now) for site in overview.sites]))
    else:
        console.print(NO_SITE, markup=False)
    console.print()
    if overview.runs:
        console.print(table(RUN_COLUMNS, [run_row(run) for run in overview.runs]))
        for run in overview.runs:
            if run.reason:
                console.print(f"{run.folder or run.number} {run.state}: {run.reason}", markup=False)
    else:
        console.print(NO_RUN, markup=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    first = Column(columns[0], no_wrap=True, min_width=max(len(row[0]) for row in rows))  # a name is never cut short
    made = Table(first, *columns[1:], box=None, pad_edge=False)
    for row in rows:
        made.add_row(*(Text(word, style=COLOURS.get(word, "")) for word in row))
    return made


def site_row(site: Site, now: datetime) -> list[str]:
    answered = left_out = UNKNOWN
    if site.run is not None:
        answered = "never" if site.last_round is None else f"round {site.last_round} of {site.run}"
        left_out = "never" if not site.left_out else f"{site.left_out} time{'s' * (site.left_out > 1)}"
    since = UNKNOWN if site.since is None else f"{duration((now - site.since).total_seconds())} ago"
    examples = UNKNOWN if site.examples is None else str(site.examples)
    state = NEVER_SEEN if site.state == "registered" else site.state
    return [site.name or "(no name)", state, since, site.fedloom or UNKNOWN, examples, answered, left_out]


def run_row(run: Run) -> list[str]:
    round = f"{UNKNOWN if run.round is None else run.round} of {run.rounds or UNKNOWN}"
    score = UNKNOWN if run.value is None else f"{run.metric} {run.value:.4f}"
    left = UNKNOWN if run.seconds_left is None else duration(run.seconds_left)
    return [run.number, run.folder or UNKNOWN, run.strategy or UNKNOWN, run.state, round, score, left]


def duration(seconds: float) -> str:
    """A length of time in its largest unit, and in the next where that one is small."""
    whole = max(0, round(seconds))
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest and whole < 10 * size else "")
    return f"{whole} s"
