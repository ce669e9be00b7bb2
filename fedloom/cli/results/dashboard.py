"""`fedloom dashboard`: a local page over a folder of runs, live."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from fedloom.cli.flags import AddCommand
from fedloom.cli.results.report import open_page
from fl_config.errors import ConfigError

DEFAULT = "runs"


def register(command: AddCommand) -> None:
    parser = command("dashboard", command_dashboard, "look at a folder of runs in a browser, while they go on")
    parser.add_argument(
        "folder", nargs="?", default=DEFAULT, metavar="FOLDER", help=f"a folder of runs (default: {DEFAULT})"
    )
    parser.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", metavar="N", default="0", help="the port (default: any that is free)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def command_dashboard(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if not folder.is_dir() and (args.folder != DEFAULT or folder.exists()):
        raise ConfigError(f"There is no folder {folder}: name the folder in which your runs are.")
    from simulation.dashboard.serving import address_of, listen, serve

    if not (args.port.isascii() and args.port.isdigit()):
        raise ConfigError(f"--port is a number from 0 to 65535, but {args.port!r} was given.")
    opened = listen(args.host, int(args.port))
    address = address_of(opened, args.host)
    print(f"The dashboard of {folder} is at {address} (Ctrl-C ends it).", flush=True)
    if args.host not in ("127.0.0.1", "::1", "localhost"):
        print("Whoever reaches this address can see the runs: there is no password.", flush=True)
    if args.open:
        open_page(address)
    with opened, contextlib.suppress(KeyboardInterrupt):
        serve(folder.resolve(), opened, args.host, str(folder))
    return 0
