"""`fedloom deploy submit`, `logs` and `stop`: runs on a federation."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from deploy.connection import CONNECTION
from fedloom.cli.deploy.arguments import add_control, add_keys, connection, control
from fedloom.cli.flags import AddCommand, add_options, given_options
from fl_config.errors import ConfigError, nearest
from fl_config.options import as_flat, options
from fl_config.toml import to_toml


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
        exit_code = connection(args).flwr(*words)
    if exit_code == 0:
        print(f"The run folder is {flat['out'] or flat['resume']}, in the server's folder.")
    return exit_code


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
