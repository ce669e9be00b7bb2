"""`fedloom report`: one HTML page for one run, or for a comparison of several."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from fedloom.cli.flags import AddCommand


def register(command: AddCommand) -> None:
    parser = command("report", command_report, "write one HTML page for a run, or a comparison of several")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="run folders")
    parser.add_argument(
        "--out", metavar="FILE", default=None, help="where to write the page (default: report.html in the run folder)"
    )
    parser.add_argument("--title", default=None, help="the page's title")
    add_open_flag(parser)


def command_report(args: argparse.Namespace) -> int:
    from simulation.report.page import write_report

    folders = [Path(folder) for folder in args.folders]
    out = Path(args.out) if args.out else (folders[0] if len(folders) == 1 else Path()) / "report.html"
    show(write_report(folders, out, args.title), args.open)
    return 0


def add_open_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="open the report in a browser at the end")


def show(report: Path, open_it: bool) -> None:
    """Say where the report is, and open it where that is asked for and there is a screen to open it on."""
    print(f"The report is {report}; the other results are beside it.")
    if open_it and (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")
    ):
        webbrowser.open(report.resolve().as_uri())
