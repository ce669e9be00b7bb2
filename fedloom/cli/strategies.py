"""`fedloom strategies`: every base and plug-in with its paper, its parameters and their defaults; one's own with --plugin."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedloom.cli.flags import AddCommand

Entry = dict[str, Any]


def register(command: AddCommand) -> None:
    parser = command(
        "strategies", command_strategies, "list every base and plug-in, its paper, parameters and defaults"
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
    listing = strategy_listing(args.names)
    if args.json:
        print(json.dumps(listing, indent=2))
    else:
        print_listing(listing)
    return 0


def read_plugins(places: Sequence[str]) -> None:
    """Execute the user's files, so that their parts declare themselves."""
    from fl_config.options import Options
    from fl_protocol.code import code_on_disk

    code_on_disk(Options(plugin=",".join(places))).read()


def strategy_listing(names: Sequence[str]) -> dict[str, list[Entry]]:
    """Bases and plug-ins as data; the named ones, or all."""
    from fl_strategies.bases import BASES
    from fl_strategies.recipes import plugins

    known = plugins()

    if not names:
        return {"bases": [base(name) for name in BASES], "plugins": [plugin(name) for name in known]}
    return {
        "bases": [base(name) for name in names if name not in known or name in BASES],
        "plugins": [plugin(name) for name in names if name in known],
    }


def base(name: str) -> Entry:
    """A base, or an expression of several parts."""
    from fl_strategies.bases import BASES
    from fl_strategies.parts import PARTS
    from fl_strategies.recipes import paper_of, parse

    recipe = parse(name)
    title = BASES[name].title if name in BASES else ""
    what = title or "; ".join(PARTS[part].what for part in recipe.parts if part not in ("size", "uniform"))
    return {
        "name": name,
        "what": what,
        "paper": paper_of(name),
        "parts": list(recipe.parts),
        "parameters": parameters(recipe.parts),
    }


def plugin(name: str) -> Entry:
    from fl_strategies.parts import PARTS

    part = PARTS[name]
    return {"name": name, "slot": part.slot, "what": part.what, "paper": part.paper, "parameters": parameters([name])}


def parameters(parts: Iterable[str]) -> list[Entry]:
    from fl_strategies.parts import PARTS

    return [
        {"key": f"{part}.{key}", "default": info.get_default(call_default_factory=True), "help": info.description}
        for part in parts
        for key, info in PARTS[part].params.model_fields.items()
    ]


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
