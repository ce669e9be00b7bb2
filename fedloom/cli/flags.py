"""How a command declares itself: its place on the command line, and one flag for every option that a run has, in groups."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, get_args

from fedloom.preset import preset
from fl_config.errors import nearest
from fl_config.options import FLAGS
from fl_config.toml import parse_assignment, parse_scalar, read_toml
from fl_strategies.bases import check_names_early

WRONG_USE = 2  # exit code
# How the help shows the options: in these groups, with these placeholders for their values.
GROUPS: dict[str, dict[str, str]] = {
    "data": {
        "dataset": "NAME|FORM:PLACE", "label": "COLUMN[,COLUMN]", "normalise": "HOW", "partition": "SCHEME[:ARG]",
        "clients": "N", "min-samples": "N", "target": "NAME[:ARG]", "held-out": "SHARE", "augment": "HOW",
    },
    "model and task": {
        "model": "NAME|FILE:CLASS", "init": "FILE", "task": "NAME|FILE:CLASS", "metrics": "NAME,NAME,...", "headline": "NAME",
        "score": "MODEL,MODEL,...",
    },
    "method": {"strategy": "BASE[+PART...]", "plugin": "FILE|MODULE"},
    "training of a client": {
        "epochs": "N", "batch-size": "N", "lr": "RATE", "lr-decay": "FACTOR", "momentum": "FACTOR", "weight-decay": "FACTOR",
        "clip": "NORM", "mixed-precision": "", "personal-epochs": "N",
    },
    "participation": {
        "fraction": "SHARE", "sampler": "HOW", "min-replies": "N", "over-sample": "SHARE", "max-update-norm": "NORM",
        "round-timeout": "SECONDS", "wait": "SECONDS",
    },
    "run": {
        "rounds": "N", "seed": "N", "patience": "N", "stop-at": "VALUE", "eval-every": "N", "save-every": "N", "out": "FOLDER", "resume": "FOLDER",
        "state-folder": "FOLDER", "track": "TRACKER[:PLACE]",
    },
    "engine": {
        "engine": "NAME", "workers": "N", "ray-address": "HOST:PORT", "device": "NAME", "gpus-per-client": "SHARE",
    },
    "privacy": {
        "secure-aggregation": "", "secure-threshold": "SHARE",
        "dp": "KIND", "dp-clip": "NORM", "dp-epsilon": "EPSILON", "dp-delta": "DELTA", "dp-noise": "MULTIPLIER", "dp-budget": "EPSILON",
    },
}  # fmt: skip
VISIBLE = [name for name in FLAGS if name not in ("sources", "code")]  # those two are the run's own
REPEATED = ("plugin", "track")  # flags that may be given more than once
Command = Callable[[argparse.Namespace], int]  # returns the exit code


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence, and which takes no abbreviated flags; its commands' are the same."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "allow_abbrev": False})

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As always, but a word that nobody knows is told by the command that it was given to."""
        found, odd = self.parse_known_args(args, namespace)
        if odd:
            found.parser.refuse(odd[0].partition("=")[0])
        return found

    def refuse(self, word: str) -> NoReturn:
        flags = [flag for action in self._actions for flag in action.option_strings]
        if word.startswith("-"):
            self.error(f"there is no flag {word!r}{nearest(word, flags)}")
        self.error(f"the word {word!r} has no place there: a flag begins with --, and takes one value.")

    def error(self, message: str) -> NoReturn:
        _, found, rest = message.partition("invalid choice: ")
        for names in [action.choices for action in self._actions if found and isinstance(action.choices, dict)]:
            word = rest.split("'")[1]
            message = f"there is no command {word!r}{nearest(word, names)} There are {', '.join(names)}."
        end = "" if message.endswith((".", "?")) else "."
        self.exit(
            WRONG_USE,
            f"{self.prog}: {message[0].upper() + message[1:]}{end} `{self.prog} --help` lists what there is.\n",
        )


class Version(argparse.Action):
    """Prints the versions of what is installed, and ends; they are looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"fedloom {version('fedloom')}, flwr {version('flwr')}, torch {version('torch')}")
        parser.exit()


class AddCommand(Protocol):
    """Declares one command and returns the parser for its flags."""

    def __call__(self, name: str, run: Command, help: str) -> argparse.ArgumentParser: ...


def subcommands(parser: argparse.ArgumentParser, dest: str) -> AddCommand:
    """Give the parser commands, of which the user has to name one."""
    places = parser.add_subparsers(dest=dest, metavar=dest.upper(), required=True)

    def add(name: str, run: Command, help: str) -> argparse.ArgumentParser:
        made = places.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        made.set_defaults(run=run, parser=made)
        return made

    return add


def add_options(parser: argparse.ArgumentParser, names: Sequence[str] | None = None) -> None:
    """Add one flag for every declared option (or for the named ones), with its help text and default."""
    if names is None:
        parser.usage = f"{parser.prog} [FLAGS]"  # which stand below, in groups
    add_flags(parser, names or VISIBLE)
    files = parser.add_argument_group("settings")
    files.add_argument(
        "--preset",
        metavar="NAME",
        default=None,
        help="a paper's settings, see `fedloom presets`; all else wins over it",
    )
    files.add_argument(
        "--config", metavar="FILE", default=None, help="a TOML file with the same keys; flags win over it"
    )
    files.add_argument(
        "--set",
        metavar="PART.NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of a part, such as disco.a=0.4; may be repeated",
    )


def add_flags(parser: argparse.ArgumentParser, wanted: Sequence[str]) -> None:
    """The flags of these options, in groups."""
    grouped = [name for group in GROUPS.values() for name in group]
    groups = {**GROUPS, "more options": {name: "VALUE" for name in wanted if name not in grouped}}
    for title, placeholders in groups.items():
        own = [name for name in placeholders if name in wanted]
        group = parser.add_argument_group(title) if own else parser
        for name in own:
            _add_option(group, name, placeholders[name])


def _add_option(group: argparse._ActionsContainer, name: str, placeholder: str) -> None:
    info = FLAGS[name]
    choices = [str(choice) for choice in get_args(info.annotation) if isinstance(choice, str)]
    listed = f" [{', '.join(choices)}]" if choices and choices != ["auto"] else ""
    default = f" (default: {info.default})" if info.default not in ("", None) else ""
    if info.annotation is bool:
        group.add_argument(
            f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=_escaped(info.description)
        )
    elif name in REPEATED:
        group.add_argument(
            f"--{name}", metavar=placeholder, action="append", default=None, help=_escaped(info.description)
        )
    else:
        text = _escaped(f"{info.description}{listed}{default}")
        group.add_argument(f"--{name}", metavar=placeholder, default=None, help=text)


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that the user gave, under flat keys: the file wins over the preset, flags over the file, and --set over all.

    A wrong name in the strategy is told here already, before Ray and torch are loaded.
    """
    values: dict[str, Any] = read_toml(Path(args.config)) if args.config else {}
    values.update(given_flags(args))
    if args.preset:
        values = {**preset(args.preset, values.get("strategy")), **values}
    values.update(parse_assignment(text) for text in args.set)
    if isinstance(strategy := values.get("strategy"), str) and strategy.strip():
        check_names_early(strategy, own_plugins=bool(values.get("plugin")))
    return values


def given_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The options that the user gave as flags."""
    values: dict[str, Any] = {}
    for name in FLAGS:
        value = getattr(args, name.replace("-", "_"), None)
        if name in REPEATED and value is not None:
            value = ",".join(value)
        if value is not None:
            values[name] = value if isinstance(value, bool) or FLAGS[name].annotation is str else parse_scalar(value)
    return values


def comma_list(text: str) -> list[str]:
    """The words of `a,b,c`, without empty ones."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _escaped(text: str) -> str:
    """argparse formats help texts with the operator %."""
    return text.replace("%", "%%")
