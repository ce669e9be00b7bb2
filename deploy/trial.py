"""A whole federation on this machine for one run: keys, a server and clients as processes of their own, ended whatever happens.

Everything is as on hosts of their own, by the same commands: certificates and keys, gRPC with TLS, one client per share of a public
data set. Only the ports are free ones of the loopback.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from deploy.keys import make_keys
from deploy.ports import LOOPBACK, hold_free_port
from fl_config.errors import ConfigError
from fl_config.lifeline import start_tied

PAUSE = 0.1  # seconds between two looks
PATIENCE = 10.0  # seconds that a process has to end in order
LAST_WORDS = 60.0  # seconds that those whom it had started may outlive it
START = 180.0  # seconds that the server may take to start
LISTENS = "Uvicorn running"


class Trial:
    """Server and clients in a folder, running while the `with` statement is; each writes its log there."""

    def __init__(self, folder: Path, clients: int, plugins: Sequence[str], stop: threading.Event) -> None:
        self.folder, self.plugins, self.stop = folder, list(plugins), stop
        self.sites = [f"site-{number}" for number in range(clients)]
        self.keys = folder / "federation"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        make_keys(self.keys, [LOOPBACK], self.sites)
        with ExitStack() as held:
            ports = []
            for _ in ("fleet", "control"):
                socket, port = hold_free_port()
                held.enter_context(socket)
                ports.append(f"{LOOPBACK}:{port}")
            self.fleet, self.control = ports
            try:
                self._start("server", "--fleet", self.fleet, "--control", self.control, "--keys", str(self.keys))
                for number, site in enumerate(self.sites):
                    named = [word for plugin in self.plugins for word in ("--plugin", plugin)]
                    own = ["--keys", str(self.keys / "clients" / site), "--partition-id", str(number)]
                    self._start("client", "--server", self.fleet, *own, *named, name=site)
                self._await_server()
                self._register()
            except BaseException:
                self.end()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _start(self, action: str, *words: str, name: str = "server") -> None:
        command = [sys.executable, "-m", "fedloom", "deploy", action, *words, "--folder", str(self.folder / name)]
        with (self.folder / f"{name}.log").open("wb") as log:
            # A group of their own: Ctrl-C is for the one who started them, and who ends them in order.
            self.processes[name] = start_tied(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def _await_server(self) -> None:
        deadline = time.monotonic() + START
        while LISTENS not in self.log("server"):
            self._go_on()
            self.check_alive()
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"The server did not start within {START:g} s; {self.folder / 'server.log'} may say why."
                )
            time.sleep(PAUSE)

    def _register(self) -> None:
        words = ["register", "--control", self.control, "--keys", str(self.keys)]
        done = subprocess.run(
            [sys.executable, "-m", "fedloom", "deploy", *words], capture_output=True, text=True, check=False
        )
        self._go_on()
        if done.returncode:
            raise ConfigError(f"The clients could not be registered: {(done.stderr or done.stdout).strip()}")

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt  # nothing has begun that could be kept

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def check_alive(self) -> None:
        """A process that ended by itself is an error that shows what it said last."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                last = "\n".join(self.log(name).strip().splitlines()[-5:])
                raise ConfigError(f"The process of {name} ended with exit code {process.returncode}. It said:\n{last}")

    def end(self) -> None:
        """End the clients, then the server; who does not end in order is killed."""
        sites = [self.processes[site] for site in self.sites if site in self.processes]
        for group in (sites, [self.processes["server"]] if "server" in self.processes else []):
            for process in group:
                process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            for process in group:
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for process in group:
                await_group(process.pid)
        self.processes.clear()


def await_group(leader: int) -> None:
    """Return when no process of the group is left: what a server or a client has started ends a moment after it, or is killed.

    The moment is counted from the leader's end: the last of its group deletes what they had for the time being, and nobody else will.
    """
    deadline = time.monotonic() + LAST_WORDS
    while goes_on(leader):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader, signal.SIGKILL)
            return
        time.sleep(PAUSE)


def goes_on(group: int) -> bool:
    """Whether anybody of the group is alive; those that ended and that nobody asks for, as in a container without an init, are not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    states = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            state, _, its_group, *_ = file.read_text().rpartition(")")[2].split()
            states += [state] if int(its_group) == group else []
    return not states or any(state != "Z" for state in states)


def new_lines(path: Path, seen: int) -> Iterator[Mapping[str, Any]]:
    """The records of a run from number `seen` on, as far as they are written."""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[seen:]
        yield from (json.loads(line) for line in lines if line.endswith("\n"))
