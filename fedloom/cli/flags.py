"""How a command declares itself: its place on the command line, and one flag for every option that a run has."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, get_args

from fl_config.options import FLAGS
from fl_config.toml import parse_assignment, parse_scalar, read_toml

VISIBLE = [name for name in FLAGS if name not in ("sources", "code")]  # those two are the run's own
REPEATED = ("plugin", "track")  # flags that may be given more than once
Command = Callable[[argparse.Namespace], int]  # returns the exit code


class AddCommand(Protocol):
    """Declares one command and returns the parser for its flags."""

    def __call__(self, name: str, run: Command, help: str) -> argparse.ArgumentParser: ...


def subcommands(parser: argparse.ArgumentParser, dest: str) -> AddCommand:
    """Give the parser commands, of which the user has to name one."""
    places = parser.add_subparsers(dest=dest, metavar=dest.upper(), required=True)

    def add(name: str, run: Command, help: str) -> argparse.ArgumentParser:
        made = places.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        made.set_defaults(run=run)
        return made

    return add


def add_options(parser: argparse.ArgumentParser, names: Sequence[str] | None = None) -> None:
    """Add one flag for every declared option (or for the named ones), with its help text and default."""
    for name in names or VISIBLE:
        info = FLAGS[name]
        choices = [str(choice) for choice in get_args(info.annotation) if isinstance(choice, str)]
        default = f" (default: {info.default})" if info.default not in ("", None) else ""
        if info.annotation is bool:
            parser.add_argument(
                f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=_escaped(info.description)
            )
        elif name in REPEATED:
            parser.add_argument(
                f"--{name}", metavar="X", action="append", default=None, help=_escaped(info.description)
            )
        else:
            listed = f" [{', '.join(choices)}]" if choices and choices != ["auto"] else ""
            parser.add_argument(
                f"--{name}", metavar="X", default=None, help=_escaped(f"{info.description}{listed}{default}")
            )
    parser.add_argument(
        "--config", metavar="FILE", default=None, help="a TOML file with the same keys; flags win over it"
    )
    parser.add_argument(
        "--set",
        metavar="PART.NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of a part, such as disco.a=0.4; may be repeated",
    )


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that the user gave, under flat keys: flags win over the file, and --set wins over both."""
    values: dict[str, Any] = read_toml(Path(args.config)) if args.config else {}
    for name in FLAGS:
        value = getattr(args, name.replace("-", "_"), None)
        if name in REPEATED and value is not None:
            value = ",".join(value)
        if value is not None:
            values[name] = value if isinstance(value, bool) or FLAGS[name].annotation is str else parse_scalar(value)
    values.update(parse_assignment(text) for text in args.set)
    return values


def comma_list(text: str) -> list[str]:
    """The words of `a,b,c`, without empty ones."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _escaped(text: str) -> str:
    """argparse formats help texts with the operator %."""
    return text.replace("%", "%%")
