"""`fedloom deploy register`, `submit`, `status`, `logs` and `stop`: what is asked of a federation's server."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.connection import CONNECTION, Connection, authority_file
from fedloom.cli.deploy.arguments import add_control, add_keys, address, existing, number, warn_insecure
from fedloom.cli.flags import WRONG_USE, AddCommand, add_options, given_options
from fl_config.errors import ConfigError
from fl_config.options import as_flat, options
from fl_config.toml import to_toml

if TYPE_CHECKING:
    from fl_protocol.flower.submission import Outcome, Submission

COMPLETED, FAILED = "completed", "failed"  # how a run ends, in Flower's words


def register(action: AddCommand) -> None:
    add = action("register", command_register, "let clients in by their public keys")
    add.add_argument("files", nargs="*", metavar="NAME.pub", help="public keys (default: all in --keys)")
    submit = action("submit", command_submit, "start a run on the federation, with the flags of `fedloom run`")
    add_options(submit)
    submit.add_argument(
        "--app", metavar="DIR", default=None, help="an app folder of your own (default: the installed FedLoom)"
    )
    submit.add_argument("--stream", action="store_true", help="show the run's log until it ends")
    status = action("status", command_status, "list the runs and the clients of the federation")
    logs = action("logs", command_logs, "show the log of a run")
    logs.add_argument("run_id", metavar="RUN", help="the run's number")
    logs.add_argument("--stream", action="store_true", help="go on until the run ends")
    stop = action("stop", command_stop, "stop a run")
    stop.add_argument("run_id", metavar="RUN", help="the run's number")
    for parser in (add, submit, status, logs, stop):
        add_control(parser, "the server's address for submitting")
        add_keys(parser, "a folder with ca.crt, or the whole federation's")


def command_register(args: argparse.Namespace) -> int:
    from deploy.keys import public_keys

    files = [Path(file) for file in args.files] or public_keys(Path(args.keys))
    if not files:
        raise ConfigError(f"There is no public key in {args.keys}/clients: name the files NAME.pub.")
    connection, failed = _connection(args), 0
    for file in files:
        failed += connection.flwr("supernode", "register", existing(file), CONNECTION) != 0
    return 1 if failed else 0


def command_submit(args: argparse.Namespace) -> int:
    values = given_options(args)  # before the imports: a wrong strategy is told at once
    from fl_protocol.flower.submission import Submission

    flat = submitted(values)
    connection = _connection(args)
    with Submission(connection.address, connection.authority) as server:
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


def command_status(args: argparse.Namespace) -> int:
    connection = _connection(args)
    return connection.flwr("list", CONNECTION) or connection.flwr("supernode", "list", CONNECTION)


def command_logs(args: argparse.Namespace) -> int:
    run_id = str(number(args.run_id, "RUN"))
    return _connection(args).flwr("log", run_id, CONNECTION, "--stream" if args.stream else "--show")


def command_stop(args: argparse.Namespace) -> int:
    return _connection(args).flwr("stop", str(number(args.run_id, "RUN")), CONNECTION)


def _connection(args: argparse.Namespace) -> Connection:
    address(args.control, "--control")
    if args.insecure:
        warn_insecure("the connection to the server is not encrypted")
    return Connection(args.control, None if args.insecure else authority_file(Path(args.keys)))
