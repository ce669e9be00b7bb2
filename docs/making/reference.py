"""Reference pages: the command line from its parser, the Python names from their docstrings, the presets from their files."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

import fedloom
from fedloom.cli.main import build_parser
from fedloom.cli.methods.presets import describe
from fedloom.preset import names


def pages() -> dict[str, str]:
    return {
        "reference/commands.md": "\n".join(_commands()),
        "reference/python.md": "\n".join(_python()),
        "reference/presets.md": "\n".join(_presets()),
    }


def _commands() -> Iterator[str]:
    yield from ("# The command line", "", "As `fedloom COMMAND --help` prints it.", "")
    yield from _subcommands(build_parser(), "##")


def _subcommands(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from (f"{level} {command.prog}", "", command.description or "", "")
                yield from _flags(command)
                yield from _subcommands(command, f"{level}#")


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for group in parser._action_groups:
        own = [action for action in group._group_actions if _shown(action)]
        if own:
            rows = [f"| {_spelling(action)} | {_cell(_help(parser, action))} |" for action in own]
            yield from (f"| {group.title} | |", "|---|---|", *rows, "")


def _shown(action: argparse.Action) -> bool:
    return (
        not isinstance(action, argparse._HelpAction | argparse._SubParsersAction) and action.help != argparse.SUPPRESS
    )


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": parser.prog}


def _spelling(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest).upper().replace("|", "\\|")
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{f'{flag} {value}'.strip()}`" for flag in action.option_strings)


def _python() -> Iterator[str]:
    yield from (
        "# The Python names",
        "",
        "Everything of the module `fedloom`; [From Python](../python.md) shows how it is used.",
        "",
    )
    for name in fedloom.__all__:
        thing = getattr(fedloom, name)
        yield from (f"## fedloom.{name}", "", *_described(thing, f"fedloom.{name}"))
        if inspect.isclass(thing):
            for member, value in _members(thing):
                yield from (f"### {name}.{member}", "", *_described(value, f"{name}.{member}"))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class offers and says something about, in the order of its source."""
    for name, value in vars(kind).items():
        inner = value.fget if isinstance(value, property) else getattr(value, "func", getattr(value, "__func__", value))
        if not name.startswith("_") and inspect.isfunction(inner) and inner.__doc__:
            yield name, inner


def _described(thing: Any, name: str) -> Iterator[str]:
    """Signature, the first paragraph as prose, and the rest as it stands."""
    if not inspect.isclass(thing):
        text = str(inspect.signature(thing)).replace("'", "")
        yield from ("```python", f"{name}{text}", "```", "")
    first, _, rest = inspect.cleandoc(thing.__doc__ or "").partition("\n\n")
    lines = first.splitlines()
    opening = " ".join(line.strip() for line in lines if not line.startswith(" "))
    yield from (_cell(opening), "")
    if rest:
        yield from ("```text", *rest.splitlines(), "```", "")


def _presets() -> Iterator[str]:
    yield from (
        "# The papers' settings",
        "",
        "`fedloom run --preset NAME` runs one, `fedloom sweep --preset NAME --strategies A,B` compares strategies in it; all other flags win over it, "
        "and what a preset sets for a part that the strategy does not have is left out. Most are full-size and want a GPU.",
        "",
        "| preset | strategy | data | size | what it is |",
        "|---|---|---|---|---|",
    )
    for name in names():
        one = describe(name)
        yield f"| `{name}` | `{one['strategy']}` | {one['dataset']} | {one['size']} | {_cell(one['about'])} |"
    yield ""


def _cell(text: str) -> str:
    """Text as it stands: no mark of it means something to Markdown."""
    escaped = "".join(f"\\{sign}" if sign in "|<>*_[]" else sign for sign in text)
    return " ".join(escaped.split())
