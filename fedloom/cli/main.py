"""The `fedloom` command: flags come from the declared options, errors are one sentence and exit code 2."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

from fl_config.errors import ConfigError, nearest
from fl_config.options import FLAGS
from fl_config.toml import parse_assignment, parse_scalar, read_toml
from fl_runs.reading import RunFolderError
from simulation.engines.ray_start import begin_early, end_unused

INTERRUPTED, WRONG_USE = 130, 2
Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        words = message.split("unrecognized arguments: ")
        if len(words) == 2:
            flag = words[1].split()[0]
            known = [option for action in self._actions for option in action.option_strings]
            subcommands = [
                parser
                for action in self._actions
                if isinstance(action.choices, dict)
                for parser in action.choices.values()
            ]
            known += [
                option for parser in subcommands for action in parser._actions for option in action.option_strings
            ]
            message = f"there is no flag {flag!r}{nearest(flag, known)}"
        self.exit(
            WRONG_USE, f"{self.prog}: {message[0].upper() + message[1:]} `{self.prog} --help` lists what there is.\n"
        )


def add_options(parser: argparse.ArgumentParser, names: Sequence[str] | None = None) -> None:
    """A flag for every declared option (or the named ones), with its help text and default."""
    for name in names or FLAGS:
        info = FLAGS[name]
        choices = [str(choice) for choice in get_args(info.annotation) if isinstance(choice, str)]
        default = f" (default: {info.default})" if info.default not in ("", None) else ""
        if info.annotation is bool:
            parser.add_argument(
                f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=_safe(info.description)
            )
        else:
            listed = f" [{', '.join(choices)}]" if choices and choices != ["auto"] else ""
            parser.add_argument(
                f"--{name}", metavar="X", default=None, help=_safe(f"{info.description}{listed}{default}")
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


def _safe(text: str) -> str:
    return text.replace("%", "%%")


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """What the user gave, flat: the file first, then flags, then --set."""
    values: dict[str, Any] = read_toml(Path(args.config)) if args.config else {}
    for name in FLAGS:
        value = getattr(args, name.replace("-", "_"), None)
        if value is not None:
            values[name] = value if isinstance(value, bool) or FLAGS[name].annotation is str else parse_scalar(value)
    values.update(parse_assignment(text) for text in args.set)
    return values


def command_run(args: argparse.Namespace) -> int:
    values = given_options(args)
    begin_early(values)  # first: what is imported now takes as long as Ray
    from fl_runs.progress import progress
    from simulation.report.page import write_report
    from simulation.runner import run

    with stoppable() as stop, progress() as shown:
        result = run(values, [shown], stop)
    if not result.finished:
        print(
            f"Stopped after round {result.rounds}. Continue with: fedloom run --resume {result.folder}", file=sys.stderr
        )
        return INTERRUPTED
    show(write_report([result.folder], result.folder / "report.html"), args.open)
    return 0


def show(report: Path, open_it: bool) -> None:
    """Say where the report is, and open it where that is asked for and there is a screen to open it on."""
    print(f"The report is {report}; the other results are beside it.")
    if open_it and (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")
    ):
        webbrowser.open(report.resolve().as_uri())


def command_report(args: argparse.Namespace) -> int:
    from simulation.report.page import write_report

    folders = [Path(folder) for folder in args.folders]
    out = Path(args.out) if args.out else (folders[0] if len(folders) == 1 else Path()) / "report.html"
    show(write_report(folders, out, args.title), args.open)
    return 0


def build_parser() -> argparse.ArgumentParser:
    from fedloom.cli import commands
    from fedloom.cli import deploy as deployment

    parser = Parser(prog="fedloom", description="Federated learning on data that is not the same everywhere.")
    parser.add_argument("--verbose", action="store_true", help="show the log on the terminal too")
    sub = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Command, help: str) -> argparse.ArgumentParser:
        made = sub.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        made.set_defaults(run=run)
        return made

    run = command("run", command_run, "run one strategy and write a run folder")
    add_options(run)
    report = command("report", command_report, "write one HTML page for a run, or a comparison of several")
    report.add_argument("folders", nargs="+", metavar="DIR", help="run folders")
    report.add_argument(
        "--out", metavar="FILE", default=None, help="where to write the page (default: report.html in the run folder)"
    )
    report.add_argument("--title", default=None, help="the page's title")
    sweep = commands.register(command)
    deployment.register(command)
    for one in (run, report, sweep):
        one.add_argument("--open", action="store_true", help="open the report in a browser at the end")
    return parser


class stoppable:
    """Ctrl-C asks the run to stop after what it is doing; a second one ends the process at once."""

    def __enter__(self) -> threading.Event:
        self.stop = threading.Event()
        self.before = signal.getsignal(signal.SIGINT)
        self.installed = threading.current_thread() is threading.main_thread()
        if self.installed:
            signal.signal(signal.SIGINT, self._handle)
        return self.stop

    def _handle(self, *_: object) -> None:
        if self.stop.is_set():
            os._exit(INTERRUPTED)
        self.stop.set()
        os.write(2, b"\nStopping; the rounds that are finished are kept. Ctrl-C again ends at once.\n")

    def __exit__(self, *_: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, self.before)


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    logging.getLogger("fedloom").setLevel(logging.INFO)
    if args.verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    else:
        logging.getLogger("fedloom").addHandler(logging.NullHandler())
        logging.getLogger("fedloom").propagate = False
    try:
        return int(args.run(args))
    except (ConfigError, RunFolderError) as error:
        print(f"fedloom: {error}", file=sys.stderr)
        return WRONG_USE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        end_unused()


if __name__ == "__main__":
    sys.exit(main())
