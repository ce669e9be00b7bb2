"""The `fedloom` command: it parses the flags, calls the command, and turns errors into one sentence and exit code 2.

Whatever takes time to import is imported inside of `main`, where Ctrl-C is answered without a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedloom.cli.stopping import INTERRUPTED, loading

if TYPE_CHECKING:
    import argparse


def build_parser() -> argparse.ArgumentParser:
    from fedloom.cli import bench, data, deploy, partition, reproduce, run, sweep
    from fedloom.cli.flags import Parser, Version, subcommands
    from fedloom.cli.methods import presets, strategies
    from fedloom.cli.results import dashboard, predict, report

    parser = Parser(prog="fedloom", description="Federated learning on data that is not the same everywhere.")
    parser.add_argument("--version", action=Version, nargs=0, help="say which FedLoom and which Flower this is")
    parser.add_argument("--verbose", action="store_true", help="show the log on the terminal too")
    command = subcommands(parser, "command")
    for module in (
        run,
        report,
        dashboard,
        sweep,
        reproduce,
        strategies,
        presets,
        data,
        partition,
        predict,
        bench,
        deploy,
    ):
        module.register(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    with loading():
        args = build_parser().parse_args(argv)
        from fedloom.cli.flags import WRONG_USE
        from fl_config.errors import ConfigError, trouble
        from fl_runs.reading import RunFolderError
        from simulation.engines.ray_start import end_unused
    _set_up_log(args.verbose)
    try:
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except (ConfigError, RunFolderError) as error:
        print(f"fedloom: {error}", file=sys.stderr)
        return WRONG_USE
    except BrokenPipeError:  # whoever read our output has seen enough
        _give_up_output()
        return 0
    except OSError as error:
        _give_up_output()
        print(f"fedloom: {trouble(error)}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print("\nfedloom: Stopped.", file=sys.stderr)
        return INTERRUPTED
    finally:
        end_unused()


def _give_up_output() -> None:
    """Send what is left of the output nowhere if it cannot be written: Python would fail again when it flushes at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _set_up_log(verbose: bool) -> None:
    import logging

    log = logging.getLogger("fedloom")
    log.setLevel(logging.INFO)
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    else:
        log.addHandler(logging.NullHandler())
        log.propagate = False


if __name__ == "__main__":
    sys.exit(main())
