"""`fedloom report`: one HTML page for one run, or for a comparison of several."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from fedloom.cli.flags import AddCommand
from fl_runs.reading import RunFolderError, read_runs


def register(command: AddCommand) -> None:
    parser = command("report", command_report, "write one HTML page for a run, or a comparison of several")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="run folders, or folders of sweeps")
    parser.add_argument(
        "--out", metavar="FILE", default=None, help="where to write the page (default: report.html in the run folder)"
    )
    parser.add_argument("--title", default=None, help="the page's title")
    parser.add_argument(
        "--csv", metavar="FILE", default=None, help="also write the table of results as CSV, with all digits"
    )
    parser.add_argument("--latex", metavar="FILE", default=None, help="also write the table of results for LaTeX")
    add_baseline_flag(parser)
    add_open_flag(parser)


def command_report(args: argparse.Namespace) -> int:
    from simulation.report.export import write_tables
    from simulation.report.page import write_report
    from simulation.report.table import comparison

    given = [Path(folder) for folder in args.folders]
    folders = [run for folder in given for run in _runs_in(folder)]
    table = comparison(read_runs(folders), args.baseline)
    out = Path(args.out) if args.out else (given[0] if len(given) == 1 else Path()) / "report.html"
    page = write_report(folders, out, args.title, args.baseline)
    write_tables(table, *(Path(place) if place else None for place in (args.csv, args.latex)))
    show(page, args.open, *(place for place in (args.csv, args.latex) if place))
    return 0


def _runs_in(folder: Path) -> list[Path]:
    """The runs of a sweep, or the one run that the folder is."""
    from simulation.sweep.sweep_file import FILE, runs_of

    if not (folder / FILE).is_file():
        return [folder]
    if not (runs := runs_of(folder)):
        raise RunFolderError(f"The sweep in {folder} has no run yet: start it, then ask for its report.")
    return runs


def add_baseline_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baseline", metavar="NAME", default="", help="what others are tested against (default: the first strategy)"
    )


def add_open_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="open the report in a browser at the end")


def show(report: Path, open_it: bool, *tables: str) -> None:
    """Say where the report is, and what was written beside it; open it where that is asked for."""
    beside = ", and the table is " + " and ".join(tables) if tables else ""
    kept = any(
        (report.parent / file).exists() for file in ("config.toml", "sweep.json")
    )  # in the folder of a run or a sweep
    print(f"The report is {report}{beside or ('; the other results are beside it' if kept else '')}.")
    if open_it:
        open_page(report.resolve().as_uri())


def open_page(address: str) -> None:
    """Open a page where there is a screen to open it on."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32"):
        webbrowser.open(address)
