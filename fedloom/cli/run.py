"""`fedloom run`: one run, its folder and its report."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedloom.cli.flags import WRONG_USE, AddCommand, add_options, given_options
from fedloom.cli.results.report import add_open_flag, open_page, show
from fedloom.cli.stopping import INTERRUPTED, loading, stoppable
from fl_config.errors import trouble
from simulation.engines.ray_start import begin_early

if TYPE_CHECKING:
    from simulation.dashboard.serving import BesideARun


def register(command: AddCommand) -> None:
    parser = command("run", command_run, "run one strategy and write a run folder")
    add_options(parser)
    add_open_flag(parser)
    parser.add_argument(
        "--dashboard",
        action="store_true",
        help="show the run in a browser while it goes on; the page ends with the run",
    )


def command_run(args: argparse.Namespace) -> int:
    values = given_options(args)
    with loading():
        begin_early(values)  # before the other imports, which take as long as the start of Ray
        from fl_runs.progress import progress
        from simulation.report.page import write_report
        from simulation.runner import run

    with stoppable() as stop, contextlib.ExitStack() as beside:
        if args.dashboard:
            page = beside.enter_context(dashboard_of(values))
            print(f"The dashboard is at {page.url} while the run goes on.", flush=True)
            open_page(page.url)
        with progress() as shown:
            result = run(values, [shown], stop)
    if not result.finished:
        print(
            f"Stopped after round {result.rounds}. Continue with: fedloom run --resume {result.folder}", file=sys.stderr
        )
        return INTERRUPTED
    try:
        report = write_report([result.folder], result.folder / "report.html")
    except OSError as error:
        print(
            f"fedloom: The run is finished, but not its report: {trouble(error)} Write it with: fedloom report {result.folder}",
            file=sys.stderr,
        )
        return WRONG_USE
    show(report, args.open)
    return 0


def dashboard_of(values: dict[str, Any]) -> BesideARun:
    """A dashboard beside the run, which gets the name of its folder here already: the page can be opened before the run begins."""
    from fl_config.options import Options
    from fl_runs.folder import default_folder
    from simulation.dashboard.serving import BesideARun

    folder = values.get("resume") or values.get("out")
    if not folder:
        folder = values["out"] = str(default_folder(str(values.get("strategy") or Options().strategy)))
    return BesideARun(Path(str(folder)).resolve())
