"""`fedloom deploy`: keys, a server, clients on their own hosts, and runs on them. Encrypted and authenticated unless asked otherwise."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from deploy.connection import CONNECTION, Connection, authority_file, command, environment
from deploy.keys import NAME, client_key, make_keys, public_keys
from fedloom.cli.main import add_options, given_options
from fl_config.errors import ConfigError
from fl_config.options import as_flat, options
from fl_config.toml import to_toml

CONTROL, FLEET, RUNTIME_PORT = "127.0.0.1:9093", "0.0.0.0:9092", 9094
KEYS = "federation"


def register(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Declare `fedloom deploy` and what is under it."""
    deploy = command("deploy", lambda args: 0, "run a server and clients on separate hosts, and submit runs to them")
    sub = deploy.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        made = sub.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        made.set_defaults(run=run)
        return made

    init = action(
        "init", command_init, "make a certificate authority, the server's certificate and a key pair a client"
    )
    init.add_argument("folder", nargs="?", default=KEYS, help=f"where to put them (default: {KEYS})")
    init.add_argument(
        "--server", metavar="HOST,...", default="", help="names and addresses clients reach the server by"
    )
    init.add_argument("--clients", metavar="NAME,...", default="", help="a name for each client")

    server = action("server", command_server, "start the server of a federation on this host")
    server.add_argument("--fleet", metavar="HOST:PORT", default=FLEET, help=f"where clients connect (default: {FLEET})")
    _control(server, "where runs are submitted; everybody who reaches it may submit")
    server.add_argument(
        "--folder", metavar="DIR", default="server", help="for its database and run folders (default: server)"
    )
    _keys(server, "the folder with ca.crt, server.crt and server.key")

    client = action("client", command_client, "start a client on this host")
    client.add_argument("--server", metavar="HOST:PORT", required=True, help="the server's address for clients")
    data = client.add_mutually_exclusive_group(required=True)
    data.add_argument("--data", metavar="SPEC", help="this host's private data: npz:FILE or folder:DIR; it stays here")
    data.add_argument(
        "--partition-id", metavar="N", help="for trials: the number of this client in a divided public data set"
    )
    client.add_argument(
        "--folder", metavar="DIR", default="client", help="for what it remembers between rounds (default: client)"
    )
    client.add_argument("--name", default=None, help="the client's name (default: that of its key)")
    client.add_argument(
        "--port",
        metavar="N",
        default=str(RUNTIME_PORT),
        help=f"a free port of this host's loopback (default: {RUNTIME_PORT})",
    )
    client.add_argument(
        "--max-retries",
        metavar="N",
        default=None,
        help="attempts to reach the server before giving up (default: no end)",
    )
    _keys(client, "the folder with ca.crt and NAME.key")

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
    for one in (add, submit, status, logs, stop):
        _control(one, "the server's address for submitting")
        _keys(one, "a folder with ca.crt, or the whole federation's")


def _control(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--control", metavar="HOST:PORT", default=CONTROL, help=f"{help} (default: {CONTROL})")


def _keys(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--keys", metavar="DIR", default=KEYS, help=f"{help} (default: {KEYS})")
    parser.add_argument(
        "--insecure", action="store_true", help="no encryption and no keys: only for trials on a network you trust"
    )


def command_init(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    made = make_keys(folder, _list(args.server), _list(args.clients))
    for path in made:
        print(path)
    print(
        f"Copy {folder / 'server'} to the server's host and each folder of {folder / 'clients'} to its client's host."
    )
    return 0


def command_server(args: argparse.Namespace) -> int:
    host, port = _address(args.control, "--control")
    _address(args.fleet, "--fleet")
    folder = Path(args.folder).resolve()
    words = ["--host", host, "--port", port, "--fleet-api-address", args.fleet]
    words += ["--database", str(folder / "federation.db"), "--disable-runtime-dependency-installation"]
    if args.insecure:
        _warn("anyone who reaches this server can join the federation and read what is sent")
        words.append("--insecure")
    else:
        keys = Path(args.keys) / "server" if (Path(args.keys) / "server").is_dir() else Path(args.keys)
        for flag, file in (("ca-certfile", "ca.crt"), ("certfile", "server.crt"), ("keyfile", "server.key")):
            words += [f"--ssl-{flag}", _existing(keys / file)]
        words.append("--enable-supernode-auth")
    _become(folder, [command("flower-superlink"), *words])


def command_client(args: argparse.Namespace) -> int:
    _address(args.server, "--server")
    folder = Path(args.folder).resolve()
    words = ["--superlink", args.server, "--port", str(_number(args.port, "--port", 65535))]
    if args.max_retries is not None:
        words += ["--max-retries", str(_number(args.max_retries, "--max-retries"))]
    if args.insecure:
        if args.name is None and args.data:
            raise ConfigError("Without a key the client needs a --name.")
        _warn("what this client sends can be read and changed on its way, and the server is not checked")
        words.append("--insecure")
        name = args.name
    else:
        key = client_key(Path(args.keys))
        words += ["--root-certificates", _existing(Path(args.keys) / "ca.crt")]
        words += ["--auth-supernode-private-key", str(key.resolve())]
        name = args.name or key.stem
    words += ["--node-config", node_config(name, args.data, args.partition_id, folder / "state")]
    _become(folder, [sys.executable, "-m", "deploy.supernode", *words])


def node_config(name: str | None, data: str | None, partition: str | None, state: Path) -> str:
    """Flower's text form of what a node knows about itself."""
    if data is None:
        return f"partition-id={_number(partition or '', '--partition-id')}"
    from fl_data import check_dataset_spec

    check_dataset_spec(data)
    scheme, colon, place = data.partition(":")
    spec = f"{scheme}:{Path(place).expanduser().resolve()}" if colon else data
    if name is None or not NAME.fullmatch(name):
        raise ConfigError(f"A client's name is letters, digits, '.', '_' and '-', but {name!r} was given.")
    for text in (spec, str(state)):
        if "'" in text or "\n" in text:
            raise ConfigError(f"A path with a quotation mark cannot be given to a client, but {text!r} was: rename it.")
    return f"name='{name}' data='{spec}' state='{state}'"


def command_register(args: argparse.Namespace) -> int:
    files = [Path(file) for file in args.files] or public_keys(Path(args.keys))
    if not files:
        raise ConfigError(f"There is no public key in {args.keys}/clients: name the files NAME.pub.")
    connection, failed = _connection(args), 0
    for file in files:
        failed += connection.flwr("supernode", "register", _existing(file), CONNECTION) != 0
    return 1 if failed else 0


def command_submit(args: argparse.Namespace) -> int:
    from deploy.bundle import write_app
    from fl_runs.folder import CONFIG, default_folder
    from fl_runs.resume import resumed
    from fl_strategies.recipes import parameters, parse

    values = given_options(args)
    if values.get("resume") and (Path(values["resume"]) / CONFIG).exists():
        values = resumed(values)
    config = options(values)
    parameters(parse(config.strategy), config.parts)  # data and files are the server's to check, they are there
    flat = as_flat(config)
    if not config.out and not config.resume:
        flat["out"] = str(default_folder(config.strategy))
    with tempfile.TemporaryDirectory(prefix="fedloom-") as made:
        given = Path(made) / "run.toml"
        given.write_text(to_toml(flat), encoding="utf-8")
        app = Path(args.app) if args.app else write_app(Path(made) / "app")
        words = ["run", str(app), CONNECTION, "--run-config", str(given), *(["--stream"] if args.stream else [])]
        code = _connection(args).flwr(*words)
    if code == 0:
        print(f"The run folder is {flat['out'] or flat['resume']}, in the server's folder.")
    return code


def command_status(args: argparse.Namespace) -> int:
    connection = _connection(args)
    return connection.flwr("list", CONNECTION) or connection.flwr("supernode", "list", CONNECTION)


def command_logs(args: argparse.Namespace) -> int:
    number = str(_number(args.run_id, "RUN"))
    return _connection(args).flwr("log", number, CONNECTION, "--stream" if args.stream else "--show")


def command_stop(args: argparse.Namespace) -> int:
    return _connection(args).flwr("stop", str(_number(args.run_id, "RUN")), CONNECTION)


def _connection(args: argparse.Namespace) -> Connection:
    _address(args.control, "--control")
    if args.insecure:
        _warn("the connection to the server is not encrypted")
    return Connection(args.control, None if args.insecure else authority_file(Path(args.keys)))


def _become(folder: Path, words: list[str]) -> NoReturn:
    """Replace this process by Flower's, so that signals and exit codes are its own."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    sys.stdout.flush()
    os.execve(words[0], words, environment(folder / "flower"))


def _warn(danger: str) -> None:
    print(f"fedloom: Warning: --insecure was asked for: {danger}.", file=sys.stderr, flush=True)


def _list(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _existing(path: Path) -> str:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}; `fedloom deploy init` makes keys and certificates.")
    return str(path.resolve())


def _address(text: str, flag: str) -> tuple[str, str]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"{flag} takes HOST:PORT, such as 10.0.0.1:9092, but {text!r} was given.")
    return host.strip("[]"), port


def _number(text: str, flag: str, largest: int | None = None) -> int:
    if not (text.isascii() and text.isdigit()) or (largest is not None and int(text) > largest):
        limit = f" up to {largest}" if largest is not None else ""
        raise ConfigError(f"{flag} takes a whole number{limit}, but {text!r} was given.")
    return int(text)
