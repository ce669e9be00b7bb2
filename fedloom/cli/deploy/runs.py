"""`fedloom deploy submit`, `logs` and `stop`: runs on a federation."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.connection import CONNECTION
from fedloom.cli.deploy.arguments import add_control, add_keys, connection, control
from fedloom.cli.flags import WRONG_USE, AddCommand, add_options, given_options
from fl_config.errors import ConfigError, nearest
from fl_config.options import as_flat, options
from fl_config.toml import to_toml

if TYPE_CHECKING:
    from fl_protocol.flower.submission import Outcome, Submission

COMPLETED, FAILED = "completed", "failed"  # how a run ends, in Flower's words


def register(action: AddCommand) -> None:
    submit = action("submit", command_submit, "start a run on the federation, with the flags of `fedloom run`")
    add_options(submit)
    submit.add_argument(
        "--app", metavar="DIR", default=None, help="an app folder of your own (default: the installed FedLoom)"
    )
    submit.add_argument("--stream", action="store_true", help="show the run's log until it ends")
    logs = action("logs", command_logs, "show the log of a run")
    logs.add_argument("run_id", metavar="RUN", help="the run's folder, or its number")
    logs.add_argument("--stream", action="store_true", help="go on until the run ends")
    stop = action("stop", command_stop, "stop a run")
    stop.add_argument("run_id", metavar="RUN", help="the run's folder, or its number")
    for parser in (submit, logs, stop):
        add_control(parser, "the server's address for submitting")
        add_keys(parser, "a folder with ca.crt, or the whole federation's")


def command_submit(args: argparse.Namespace) -> int:
    values = given_options(args)  # before the imports: a wrong strategy is told at once
    from fl_protocol.flower.submission import Submission

    flat = submitted(values)
    described = connection(args)
    with Submission(described.address, described.authority) as server:
        run = send(server, flat, args.app)
        print(f"Run {run} is submitted. Its folder is {flat['out'] or flat['resume']}, in the server's folder.")
        return follow(server, run) if args.stream else 0


def submitted(values: dict[str, Any]) -> dict[str, Any]:
    """The run config of these options, checked as far as that is possible where the data is not."""
    from fl_protocol.code import code_on_disk
    from fl_runs.folder import CONFIG, default_folder
    from fl_runs.resume import resumed
    from fl_strategies.recipes import parameters, parse

    if values.get("resume") and (Path(values["resume"]) / CONFIG).exists():
        values = resumed(values)
    config = options(values)
    code = code_on_disk(config).read()  # its sums travel, its text does not
    parameters(parse(config.strategy), config.parts)  # data and files are on the server's host, which checks them
    flat = as_flat(config) | {"sources": code.sums}
    if not config.out and not config.resume:
        flat["out"] = str(default_folder(config.strategy))
    return flat


def send(server: Submission, flat: dict[str, Any], app: str | None = None) -> int:
    """Start a run with this run config and the installed apps, or those of a folder; returns its number."""
    from deploy.bundle import write_app

    with tempfile.TemporaryDirectory(prefix="fedloom-") as made:
        given = Path(made) / "run.toml"
        given.write_text(to_toml(flat), encoding="utf-8")
        return server.start(Path(app) if app else write_app(Path(made) / "app"), given)


def follow(server: Submission, run: int) -> int:
    """Show the run's log until it ends; one that failed gives its reason as the last line, and the exit code of an error."""
    for piece in server.log(run):
        print(piece, end="", flush=True)
    outcome = server.outcome(run)
    if outcome.how == COMPLETED:
        return 0
    print(f"fedloom: {ending(outcome)}", file=sys.stderr)
    return WRONG_USE


def ending(outcome: Outcome) -> str:
    """A sentence about a run that was not completed."""
    if not outcome.ended:
        return "The run goes on, but its log is no longer sent."
    return f"The run {'failed' if outcome.how == FAILED else f'was {outcome.how}'}{f': {why}' if (why := outcome.reason) else '.'}"


def command_logs(args: argparse.Namespace) -> int:
    run_id = number_of(args)
    return connection(args).flwr("log", run_id, CONNECTION, "--stream" if args.stream else "--show")


def command_stop(args: argparse.Namespace) -> int:
    return connection(args).flwr("stop", number_of(args), CONNECTION)


def number_of(args: argparse.Namespace) -> str:
    """The number of the run that RUN means: it is one, or the name of a run folder, whose last run is meant."""
    given = str(args.run_id)
    if given.isascii() and given.isdigit():
        return given
    with control(args) as server:
        folders = {run.folder: run for run in reversed(server.runs()) if run.folder}
    if given not in folders:
        raise ConfigError(f"The server has no run in the folder {given!r}{nearest(given, folders)}")
    return str(folders[given].number)
