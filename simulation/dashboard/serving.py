"""The dashboard's server: its socket, its end, and the process beside a run that ends with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from fl_config.errors import ConfigError

HOST = "127.0.0.1"
LAST_LOOK = 2.0  # seconds in which open pages learn how a run ended


def listen(host: str = HOST, port: int = 0) -> socket.socket:
    """A listening socket; port 0 is any that is free. What the system refuses is one sentence."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port is a number from 0 to 65535, but {port} was given.")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind)
    except OSError as error:
        raise ConfigError(f"--host {host} is no address of this machine ({error.strerror}).") from None
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except OSError as error:
        opened.close()
        raise ConfigError(
            f"The dashboard cannot listen on {host}, port {port} ({error.strerror}): choose another --port, or none for a free one."
        ) from None
    return opened


def address_of(opened: socket.socket, host: str) -> str:
    name = "127.0.0.1" if host == "0.0.0.0" else host
    return f"http://{f'[{name}]' if ':' in name else name}:{opened.getsockname()[1]}/"


def serve(
    folder: Path, opened: socket.socket, host: str = HOST, shown: str = "", until: threading.Event | None = None
) -> None:
    """Answer until Ctrl-C, or until the event is set."""
    import uvicorn

    from simulation.dashboard.app import make_app, names_here

    def ending() -> bool:
        return bool(server.should_exit)

    settings = uvicorn.Config(
        make_app(folder, shown, names_here(host), ending),
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(settings)
    if until is not None:

        def end() -> None:
            until.wait()
            server.should_exit = True

        threading.Thread(target=end, daemon=True).start()
    server.run(sockets=[opened])


class BesideARun:
    """A dashboard in a process of its own, so that it takes nothing from the run; it ends when this process does, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""

    def __enter__(self) -> Self:
        opened = listen()
        self.url = f"{address_of(opened, HOST)}view?run={quote(self.folder.name, safe='')}"
        command = [sys.executable, "-m", "simulation.dashboard.serving", str(self.folder.parent), str(opened.fileno())]
        # A session of its own: Ctrl-C is meant for the run, which then ends us by closing the pipe.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, pass_fds=[opened.fileno()], start_new_session=True
        )
        opened.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=LAST_LOOK + 8)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main(folder: str, descriptor: str) -> None:
    """Serve on an inherited socket until whoever holds the other end of our input is gone."""
    ended = threading.Event()

    def watch() -> None:
        while os.read(0, 1024):
            continue
        time.sleep(LAST_LOOK)
        ended.set()

    threading.Thread(target=watch, daemon=True).start()
    serve(Path(folder), socket.socket(fileno=int(descriptor)), until=ended)


if __name__ == "__main__":
    main(*sys.argv[1:])
