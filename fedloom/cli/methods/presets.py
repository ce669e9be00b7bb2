"""`fedloom presets`: the papers' settings that `--preset NAME` takes, what each is, and how large."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError
from fl_config.toml import to_toml

HEADINGS = {"name": "Preset", "strategy": "Strategy", "dataset": "Data", "size": "Size", "about": "What it is"}


def register(command: AddCommand) -> None:
    parser = command("presets", command_presets, "list the papers' settings, one for each published table")
    words = "only those with these words in their name or text; the whole name of one shows what it sets"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.add_argument("--json", action="store_true", help="as JSON, with all settings")


def command_presets(args: argparse.Namespace) -> int:
    if len(args.words) == 1 and args.words[0] in _names():
        shown = [describe(args.words[0])]
    else:
        shown = [entry for name in _names() if _has(entry := describe(name), args.words)]
    if not shown:
        raise ConfigError(f"No preset has {' and '.join(map(repr, args.words))} in its name or text.")
    if args.json:
        print(json.dumps(shown, indent=2))
    else:
        print_presets(shown)
        if len(shown) == 1:
            print("\n" + to_toml(shown[0]["settings"]))
        print(
            f"Run one with: fedloom run --preset {shown[0]['name']}; flags win over it, such as --rounds 5.",
            file=sys.stderr,
        )
    return 0


def describe(name: str) -> dict[str, Any]:
    from fedloom.preset import about, preset
    from fl_config.options import Options

    settings = preset(name)
    plain = Options.model_fields
    clients, fraction, rounds, epochs = (
        settings.get(key, plain[key].default) for key in ("clients", "fraction", "rounds", "epochs")
    )
    share = f" at {fraction:.0%}" if fraction < 1 else ""
    return {
        "name": name,
        "strategy": settings["strategy"],
        "dataset": settings["dataset"],
        "size": f"{clients} clients{share}, {rounds} rounds, {epochs} epoch{'s' if epochs != 1 else ''}",
        "about": about(name),
        "settings": settings,
    }


def print_presets(shown: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEADINGS.values(), box=None, pad_edge=False)
    for entry in shown:
        table.add_row(*(entry[key] for key in HEADINGS))
    console = Console()
    Console(width=max(console.width, 140) if not console.is_terminal else None).print(table)


def _names() -> list[str]:
    from fedloom.preset import names

    return names()


def _has(entry: dict[str, Any], words: list[str]) -> bool:
    text = f"{entry['name']} {entry['strategy']} {entry['dataset']} {entry['about']}".lower()
    return all(word.lower() in text for word in words)
