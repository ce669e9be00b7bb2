"""`fedloom deploy init`, `server` and `client`: what is done once on each host of a federation."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from deploy.connection import environment
from deploy.ports import LOOPBACK, check_free
from deploy.upkeep import DATABASE, logfile
from deploy.upkeep.proxy import check_proxy
from fedloom.cli.deploy.arguments import (
    KEYS,
    SERVER_FOLDER,
    add_control,
    add_keys,
    address,
    existing,
    number,
    warn_insecure,
)
from fedloom.cli.deploy.renew import check_client, check_server
from fedloom.cli.flags import AddCommand, comma_list
from fl_config.errors import ConfigError

FLEET, HEARTBEAT, SLOWEST_HEARTBEAT = "0.0.0.0:9092", 5, 1800
LONGEST_PLACE = 70  # characters of a folder for sockets, whose whole path may have about a hundred


def register(action: AddCommand) -> None:
    _register_init(action)
    _register_server(action)
    _register_client(action)


def _register_init(action: AddCommand) -> None:
    parser = action(
        "init", command_init, "make a certificate authority, the server's certificate and one key pair per client"
    )
    parser.add_argument("folder", nargs="?", default=KEYS, help=f"where to put them (default: {KEYS})")
    parser.add_argument(
        "--server", metavar="HOST,...", default="", help="names and addresses by which clients reach the server"
    )
    parser.add_argument("--clients", metavar="NAME,...", default="", help="a name for each client")


def _register_server(action: AddCommand) -> None:
    parser = action("server", command_server, "start the server of a federation on this host")
    parser.add_argument("--fleet", metavar="HOST:PORT", default=FLEET, help=f"where clients connect (default: {FLEET})")
    add_control(parser, "where runs are submitted; everybody who reaches it may submit")
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=SERVER_FOLDER,
        help=f"for its database and run folders (default: {SERVER_FOLDER})",
    )
    add_keys(parser, "the folder with ca.crt, server.crt and server.key")


def _register_client(action: AddCommand) -> None:
    parser = action("client", command_client, "start a client on this host")
    parser.add_argument("--server", metavar="HOST:PORT", required=True, help="the server's address for clients")
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument("--data", metavar="SPEC", help="this host's private data: npz:FILE or folder:DIR; it stays here")
    data.add_argument(
        "--partition-id", metavar="N", help="for trials: the number of this client in a divided public data set"
    )
    parser.add_argument(
        "--folder", metavar="DIR", default="client", help="for what it remembers between rounds (default: client)"
    )
    parser.add_argument("--name", default=None, help="the client's name (default: that of its key)")
    parser.add_argument(
        "--plugin",
        metavar="FILE",
        action="append",
        default=None,
        help="a file or module of parts, models or tasks that runs may execute here, if they have the same text; may be repeated",
    )
    parser.add_argument(
        "--port", metavar="N", default=None, help="a port of this host's loopback for its own use (default: a free one)"
    )
    parser.add_argument(
        "--heartbeat",
        metavar="SECONDS",
        default=str(HEARTBEAT),
        help=f"between signs of life; whoever misses two is left out (default: {HEARTBEAT})",
    )
    parser.add_argument(
        "--max-retries",
        metavar="N",
        default=None,
        help="attempts to reach the server before giving up (default: no end)",
    )
    add_keys(parser, "the folder with ca.crt and NAME.key")


def command_init(args: argparse.Namespace) -> int:
    from deploy.keys import make_keys

    folder = Path(args.folder)
    for path in make_keys(folder, comma_list(args.server), comma_list(args.clients)):
        print(path)
    print(
        f"Copy {folder / 'server'} to the server's host and each folder of {folder / 'clients'} to its client's host."
    )
    return 0


def command_server(args: argparse.Namespace) -> int:
    host, port = address(args.control, "--control")
    check_free(host, int(port), "--control")
    outside, fleet = address(args.fleet, "--fleet")
    check_free(outside, int(fleet), "--fleet")
    folder = Path(args.folder).resolve()
    words = ["--host", host, "--port", port, "--fleet-api-address", args.fleet]
    words += ["--database", str(folder / DATABASE), "--disable-runtime-dependency-installation"]
    if args.insecure:
        warn_insecure("anyone who reaches this server can join the federation and read what is sent")
        words.append("--insecure")
    else:
        keys = Path(args.keys) / "server" if (Path(args.keys) / "server").is_dir() else Path(args.keys)
        for flag, file in (("ca-certfile", "ca.crt"), ("certfile", "server.crt"), ("keyfile", "server.key")):
            words += [f"--ssl-{flag}", existing(keys / file)]
        check_server(keys)
        words.append("--enable-supernode-auth")
    _become(folder, [sys.executable, "-m", "deploy.superlink", *words], "server.log", database=folder / DATABASE)


def command_client(args: argparse.Namespace) -> int:
    from deploy.keys import client_key

    address(args.server, "--server")
    check_proxy(os.environ)
    folder = Path(args.folder).resolve()
    words = ["--superlink", args.server, "--heartbeat", str(_heartbeat(args.heartbeat))]
    if args.port is not None:
        port = number(args.port, "--port", 65535)
        check_free(LOOPBACK, port, "--port")
        words += ["--port", str(port)]
    if args.max_retries is not None:
        words += ["--max-retries", str(number(args.max_retries, "--max-retries"))]
    if args.insecure:
        if args.name is None and args.data:
            raise ConfigError("Without a key the client needs a --name.")
        warn_insecure("what this client sends can be read and changed on its way, and the server is not checked")
        words.append("--insecure")
        name = args.name
    else:
        key = client_key(Path(args.keys))
        words += ["--root-certificates", existing(Path(args.keys) / "ca.crt")]
        words += ["--auth-supernode-private-key", str(key.resolve())]
        name = args.name or key.stem
    words += ["--node-config", node_config(name, args.data, args.partition_id, folder / "state", args.plugin or [])]
    if not args.insecure:
        check_client(Path(args.keys), args.server)
    _become(folder, [sys.executable, "-m", "deploy.supernode", *words], "client.log", name=name or "")


def _heartbeat(text: str) -> int:
    seconds = number(text, "--heartbeat", SLOWEST_HEARTBEAT)
    if not seconds:
        raise ConfigError("--heartbeat takes whole seconds, one or more, but 0 was given.")
    return seconds


def node_config(
    name: str | None, data: str | None, partition: str | None, state: Path, plugins: Sequence[str] = ()
) -> str:
    """What a node knows about itself, in Flower's text form. `plugins` is all the code of others that it executes."""
    own = ",".join(str(Path(place).expanduser().resolve()) if place.endswith(".py") else place for place in plugins)
    for place in plugins:
        if place.endswith(".py"):
            existing_code(Path(place).expanduser())
    from deploy.keys import NAME

    if name is not None and not NAME.fullmatch(name):
        raise ConfigError(f"A client's name is letters, digits, '.', '_' and '-', but {name!r} was given.")
    if data is None:
        called = f"name='{name}' " if name else ""
        return f"{called}partition-id={number(partition or '', '--partition-id')} plugins='{own}'"
    from fl_data import check_dataset_spec

    check_dataset_spec(data)
    scheme, colon, place = data.partition(":")
    spec = f"{scheme}:{Path(place).expanduser().resolve()}" if colon else data
    if name is None:
        raise ConfigError("A client with data of its own needs a --name.")
    for text in (spec, str(state), own):
        if "'" in text or "\n" in text:
            raise ConfigError(f"A path with a quotation mark cannot be given to a client, but {text!r} was: rename it.")
    return f"name='{name}' data='{spec}' state='{state}' plugins='{own}'"


def existing_code(path: Path) -> None:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}: --plugin names the files whose code this client may execute.")


def _become(folder: Path, words: list[str], log: str, *, name: str = "", database: Path | None = None) -> NoReturn:
    """Replace this process by Flower's, so that signals and exit codes are its own; what it says is kept in the folder's log.

    Temporary files of all its processes are in one folder, which is deleted after the last of them, however they end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    passing = Path(tempfile.mkdtemp(prefix="fedloom-"))
    if len(str(passing)) > LONGEST_PLACE:
        passing.rmdir()
        passing = Path(tempfile.mkdtemp(prefix="fedloom-", dir="/tmp"))
    logfile.keep_log(folder / log, name=name, database=database, passing=passing)
    os.chdir(folder)
    os.execve(words[0], words, environment(folder / "flower") | {"TMPDIR": str(passing)})
