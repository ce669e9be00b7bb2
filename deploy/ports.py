"""Ports of this host: a free one for what only this host uses, and a sentence where one that was asked for is taken."""

from __future__ import annotations

import socket

from fl_config.errors import ConfigError

LOOPBACK = "127.0.0.1"


def hold_free_port() -> tuple[socket.socket, int]:
    """A free port of the loopback. While the socket is kept, the system gives the port to nobody; a server may still listen there."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((LOOPBACK, 0))
    return held, int(held.getsockname()[1])


def check_free(host: str, port: int, flag: str) -> None:
    """Refuse a port that another process listens at."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise ConfigError(
                f"{flag} {shown} cannot be used on this host ({error.strerror}): end what listens there, or choose another."
            ) from None
