"""Arguments that several commands of `fedloom deploy` take, and the checks of what was given."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.connection import Connection, authority_file
from deploy.upkeep.proxy import for_proxies
from fl_config.errors import ConfigError

if TYPE_CHECKING:
    from fl_protocol.flower.control import Control

CONTROL, KEYS, SERVER_FOLDER = "127.0.0.1:9093", "federation", "server"


def add_control(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--control", metavar="HOST:PORT", default=CONTROL, help=f"{help} (default: {CONTROL})")


def add_keys(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the two flags that decide on security: where the keys are, and going without them."""
    parser.add_argument("--keys", metavar="DIR", default=KEYS, help=f"{help} (default: {KEYS})")
    parser.add_argument(
        "--insecure", action="store_true", help="no encryption and no keys: only for trials on a network you trust"
    )


def warn_insecure(danger: str) -> None:
    print(f"fedloom: Warning: --insecure was asked for: {danger}.", file=sys.stderr, flush=True)


def existing(path: Path) -> str:
    """The file's absolute path."""
    if not path.is_file():
        raise ConfigError(f"There is no file {path}; `fedloom deploy init` makes keys and certificates.")
    return str(path.resolve())


def address(text: str, flag: str) -> tuple[str, str]:
    """Host and port of `HOST:PORT`; an IPv6 address comes without its brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"{flag} takes HOST:PORT, such as 10.0.0.1:9092, but {text!r} was given.")
    return host.strip("[]"), port


def number(text: str, flag: str, largest: int | None = None) -> int:
    if not (text.isascii() and text.isdigit()) or (largest is not None and int(text) > largest):
        limit = f" up to {largest}" if largest is not None else ""
        raise ConfigError(f"{flag} takes a whole number{limit}, but {text!r} was given.")
    return int(text)


def connection(args: argparse.Namespace) -> Connection:
    """The connection to the server that --control, --keys and --insecure describe."""
    address(args.control, "--control")
    os.environ.update(for_proxies(os.environ))
    if args.insecure:
        warn_insecure("the connection to the server is not encrypted")
    return Connection(args.control, None if args.insecure else authority_file(Path(args.keys)))


@contextmanager
def control(args: argparse.Namespace) -> Iterator[Control]:
    """The same connection, opened in this process."""
    from fl_protocol.flower.control import Control

    described = connection(args)
    opened = Control(described.address, described.authority)
    try:
        yield opened
    finally:
        opened.close()
