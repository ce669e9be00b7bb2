"""`fedloom data`: fetch a data set, or list those that there are."""

from __future__ import annotations

import argparse

from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError


def register(command: AddCommand) -> None:
    parser = command("data", command_data, "get a data set, or say what is there")
    parser.add_argument("action", choices=["fetch", "list"], help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets to fetch")


def command_data(args: argparse.Namespace) -> int:
    from fl_data import fetch

    if args.action == "list":
        print_list()
        return 0
    if not args.names:
        raise ConfigError("Name the data sets to fetch, such as: fedloom data fetch fashion-mnist.")
    for name in args.names:
        print(f"{name} is in {fetch(name)}.")
    return 0


def print_list() -> None:
    from rich.console import Console
    from rich.table import Table

    from fl_data import available, cache_folder

    table = Table("name", "here", "size", "classes", "where it comes from", box=None, pad_edge=False)
    for entry in available():
        table.add_row(
            entry["name"],
            "yes" if entry["present"] else "no",
            entry["size"],
            str(entry["classes"]),
            ", ".join(entry["sources"]),
        )
    Console().print(table)
    print(f"The cache folder is {cache_folder()}.")
