"""`fedloom run`: one run, its folder and its report."""

from __future__ import annotations

import argparse
import sys

from fedloom.cli.flags import WRONG_USE, AddCommand, add_options, given_options
from fedloom.cli.results.report import add_open_flag, show
from fedloom.cli.stopping import INTERRUPTED, loading, stoppable
from fl_config.errors import trouble
from simulation.engines.ray_start import begin_early


def register(command: AddCommand) -> None:
    parser = command("run", command_run, "run one strategy and write a run folder")
    add_options(parser)
    add_open_flag(parser)


def command_run(args: argparse.Namespace) -> int:
    values = given_options(args)
    with loading():
        begin_early(values)  # before the other imports, which take as long as the start of Ray
        from fl_runs.progress import progress
        from simulation.report.page import write_report
        from simulation.runner import run

    with stoppable() as stop, progress() as shown:
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
