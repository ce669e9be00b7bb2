"""`fedloom deploy status`: the sites and the runs of a federation as two tables, or as JSON."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fedloom.cli.deploy.arguments import SERVER_FOLDER, add_control, add_keys, control
from fedloom.cli.flags import AddCommand

if TYPE_CHECKING:
    from rich.table import Table

    from deploy.overview import Overview, Run, Site

UNKNOWN = "-"
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
    if args.json:
        print(overview.to_json())
        return 0
    show(overview, datetime.now(UTC))
    return 0


def show(overview: Overview, now: datetime) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if overview.sites:
        sites = Table(
            "site", "state", "since", "FedLoom", "examples", "last answer", "left out", box=None, pad_edge=False
        )
        add_rows(sites, [site_row(site, now) for site in overview.sites])
        console.print(sites)
    else:
        console.print(NO_SITE, markup=False)
    console.print()
    if overview.runs:
        runs = Table("run", "folder", "strategy", "state", "round", "score", "time left", box=None, pad_edge=False)
        add_rows(runs, [run_row(run) for run in overview.runs])
        console.print(runs)
        for run in overview.runs:
            if run.reason:
                console.print(f"{run.folder or run.number} failed: {run.reason}", markup=False)
    else:
        console.print(NO_RUN, markup=False)


def add_rows(table: Table, rows: list[list[str]]) -> None:
    from rich.text import Text

    for row in rows:
        table.add_row(*(Text(word, style=COLOURS.get(word, ""), no_wrap=place == 0) for place, word in enumerate(row)))


def site_row(site: Site, now: datetime) -> list[str]:
    answered = left_out = UNKNOWN
    if site.run is not None:
        answered = "never" if site.last_round is None else f"round {site.last_round} of {site.run}"
        left_out = "never" if not site.left_out else f"{site.left_out} time{'s' * (site.left_out > 1)}"
    since = UNKNOWN if site.since is None else f"{duration((now - site.since).total_seconds())} ago"
    examples = UNKNOWN if site.examples is None else str(site.examples)
    return [site.name or "(no name)", site.state, since, site.fedloom or UNKNOWN, examples, answered, left_out]


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
