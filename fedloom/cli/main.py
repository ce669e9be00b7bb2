"""The `fedloom` command: it parses the flags, calls the command, and turns errors into one sentence and exit code 2."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from fedloom.cli import bench, data, deploy, partition, predict, report, run, strategies, sweep
from fedloom.cli.flags import subcommands
from fl_config.errors import ConfigError, nearest
from fl_runs.reading import RunFolderError
from simulation.engines.ray_start import end_unused

WRONG_USE = 2  # exit code


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        _, found, flags = message.partition("unrecognized arguments: ")
        if found:
            flag = flags.split()[0]
            message = f"there is no flag {flag!r}{nearest(flag, self._known_flags())}"
        self.exit(
            WRONG_USE, f"{self.prog}: {message[0].upper() + message[1:]} `{self.prog} --help` lists what there is.\n"
        )

    def _known_flags(self) -> list[str]:
        """The flags of this parser and of its commands: an unknown flag of a command is its parent's to tell."""
        parsers: list[argparse.ArgumentParser] = [self]
        for action in self._actions:
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
        return [flag for parser in parsers for action in parser._actions for flag in action.option_strings]


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="fedloom", description="Federated learning on data that is not the same everywhere.")
    parser.add_argument("--verbose", action="store_true", help="show the log on the terminal too")
    command = subcommands(parser, "command")
    for module in (run, report, sweep, strategies, data, partition, predict, bench, deploy):
        module.register(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    _set_up_log(args.verbose)
    try:
        return int(args.run(args))
    except (ConfigError, RunFolderError) as error:
        print(f"fedloom: {error}", file=sys.stderr)
        return WRONG_USE
    except BrokenPipeError:  # whoever read our output has seen enough; Python must not fail again when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        end_unused()


def _set_up_log(verbose: bool) -> None:
    log = logging.getLogger("fedloom")
    log.setLevel(logging.INFO)
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    else:
        log.addHandler(logging.NullHandler())
        log.propagate = False


if __name__ == "__main__":
    sys.exit(main())
