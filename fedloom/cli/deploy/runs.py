"""`fedloom deploy register`, `submit`, `status`, `logs` and `stop`: what is asked of a federation's server."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from deploy.connection import CONNECTION, Connection, authority_file
from fedloom.cli.deploy.arguments import add_control, add_keys, address, existing, number, warn_insecure
from fedloom.cli.flags import AddCommand, add_options, given_options
from fl_config.errors import ConfigError
from fl_config.options import as_flat, options
from fl_config.toml import to_toml


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
    from deploy.bundle import write_app
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
    with tempfile.TemporaryDirectory(prefix="fedloom-") as made:
        given = Path(made) / "run.toml"
        given.write_text(to_toml(flat), encoding="utf-8")
        app = Path(args.app) if args.app else write_app(Path(made) / "app")
        words = ["run", str(app), CONNECTION, "--run-config", str(given), *(["--stream"] if args.stream else [])]
        exit_code = _connection(args).flwr(*words)
    if exit_code == 0:
        print(f"The run folder is {flat['out'] or flat['resume']}, in the server's folder.")
    return exit_code


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
