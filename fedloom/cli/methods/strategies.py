"""`fedloom strategies`: every base and plug-in with its paper and its parameters; the cards of those that are named."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fedloom.cli.flags import AddCommand

Entry = dict[str, Any]


def register(command: AddCommand) -> None:
    parser = command(
        "strategies",
        command_strategies,
        "list every base and plug-in, its paper, parameters and defaults; with names, the card of each",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, or an expression such as feddyn+disco")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--plugin",
        metavar="FILE",
        action="append",
        default=[],
        help="list the parts of my_parts.py or of an installed module too; may be repeated",
    )


def command_strategies(args: argparse.Namespace) -> int:
    if args.plugin:
        read_plugins(args.plugin)
    else:
        check_early(args.names)
    listing = strategy_listing(args.names)
    if args.json:
        print(json.dumps(listing, indent=2))
    elif args.names:
        print_cards([*listing["bases"], *listing["plugins"]])
    else:
        print_listing(listing)
    return 0


def read_plugins(places: Sequence[str]) -> None:
    """Execute the user's files, so that their parts declare themselves."""
    from fl_config.options import Options
    from fl_protocol.code import code_on_disk

    code_on_disk(Options(plugin=",".join(places))).read()


def strategy_listing(names: Sequence[str]) -> dict[str, list[Entry]]:
    """All bases and plug-ins as data; or the cards of the named ones, and of expressions of several."""
    from fedloom.cli.methods import card
    from fl_strategies.bases import BASES
    from fl_strategies.parts import PARTS
    from fl_strategies.recipes import plugins

    if not names:
        return {
            "bases": [card.base(name) for name in BASES],
            "plugins": [card.plugin(name) for name in plugins()],
        }
    wanted = [name.strip().lower() for name in names]
    return {
        "bases": [card.card(name) for name in wanted if name in BASES or name not in PARTS],
        "plugins": [card.card(name) for name in wanted if name in PARTS and name not in BASES],
    }


def check_early(names: Sequence[str]) -> None:
    """Tell a wrong name before torch is loaded; where packages with parts are installed, only reading them tells."""
    from fl_config.parts import installed_plugins
    from fl_strategies.bases import check_names_early
    from fl_strategies.parts import parts_on_disk

    for name in names:
        if name.strip().lower() not in parts_on_disk() and not installed_plugins():
            check_names_early(name)


def print_cards(cards: Sequence[Entry]) -> None:
    """As they are, and not fitted to the terminal: equations and BibTeX have lines of their own."""
    from fedloom.cli.methods.card import lines

    for number, shown in enumerate(cards):
        print(*(["", "=" * 80, ""] if number else []), *lines(shown), sep="\n")


def print_listing(listing: Mapping[str, Sequence[Entry]]) -> None:
    from rich.console import Console

    console = Console()
    for kind, heading in (("bases", "Bases"), ("plugins", "Plug-ins (after a +)")):
        if listing[kind]:
            console.print(heading, style="bold")
        for entry in listing[kind]:
            paper = f"  [{entry['paper']}]" if entry["paper"] else ""
            console.print(f"  {entry['name']:<12} {entry['what']}{paper}", markup=False, highlight=False)
            for one in entry["parameters"]:
                line = f"      {one['key']} = {one['default']}   {one['help'] or ''}".rstrip()
                console.print(line, markup=False, highlight=False, style="dim")
