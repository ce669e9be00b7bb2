"""`fedloom deploy renew`, and what the other commands say of certificates that are about to expire."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fedloom.cli.deploy.arguments import KEYS, address
from fedloom.cli.flags import AddCommand
from fl_config.errors import ConfigError

PATIENCE = 3.0  # seconds for a look at the server's certificate
RENEW = "make a new one with `fedloom deploy renew` where the authority is, and copy it here"
RENEW_AUTHORITY = "`fedloom deploy renew --authority` makes a new one, which every host needs"


def register(action: AddCommand) -> None:
    parser = action("renew", command_renew, "make the server's certificate anew, before it expires")
    parser.add_argument(
        "folder", nargs="?", default=KEYS, help=f"the folder of `fedloom deploy init` (default: {KEYS})"
    )
    parser.add_argument("--authority", action="store_true", help="the authority's own certificate as well")


def command_renew(args: argparse.Namespace) -> int:
    from deploy.upkeep.certificates import renew_authority, renew_server, valid_until

    folder = Path(args.folder)
    written = renew_authority(folder) if args.authority else []
    server = renew_server(folder)
    for path in (*written, server):
        print(path)
    print(f"The server's certificate is valid until {valid_until(server):%d %B %Y}, all keys are as they were.")
    print(f"Copy {server} to the server's host and start the server again; resume its runs, if it had any.")
    if args.authority:
        print(
            "Copy ca.crt to every host in place of the old one, which serves until it expires: they need not change at once."
        )
    return 0


def check_server(keys: Path) -> None:
    """The server's certificates: expired is an error, soon is a warning."""
    from deploy.upkeep.certificates import check_valid

    _warn(check_valid(keys / "server.crt", "The server's", RENEW))
    _warn(check_valid(keys / "ca.crt", "The authority's", RENEW_AUTHORITY))


def check_client(keys: Path, server: str) -> None:
    """The authority's certificate, and the one that the server shows. The server's may be renewed while this client waits."""
    from deploy.upkeep.certificates import check_valid

    _warn(check_valid(keys / "ca.crt", "The authority's", RENEW_AUTHORITY))
    if not any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "grpc_proxy")):
        _warn(served(server, keys / "ca.crt"))


def served(server: str, authority: Path) -> str | None:
    """What there is to say about the certificate that the server at HOST:PORT shows."""
    from deploy.upkeep.certificates import served_until, warning

    host, port = address(server, "HOST:PORT")
    try:
        until = served_until(host, int(port), authority, PATIENCE)
    except ConfigError as expired:
        return str(expired)
    told = None if until is None else warning("The server's", until)
    return None if told is None else f"{told}: its administrator makes a new one with `fedloom deploy renew`."


def _warn(sentence: str | None) -> None:
    if sentence is not None:
        print(f"fedloom: Warning: {sentence}", file=sys.stderr, flush=True)
