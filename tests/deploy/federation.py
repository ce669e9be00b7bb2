"""A real federation: a superlink and three supernodes with TLS and keys, each in its own network namespace.

Where namespaces cannot be made (no root, no kernel support) everything is on loopback, and tests that cut a link are skipped.
Every process that is started here carries this folder in its environment, and is ended by its process id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deploy.keys import make_keys

SITES = ("site-a", "site-b", "site-c")
CLASSES, FEATURES = 3, 6
PATIENCE = 240  # seconds that anything may take on a busy machine


def private_data(folder: Path, sites: Sequence[str] = SITES) -> None:
    """Three or four sites that differ in size and in their classes, one of which lacks a class, and the server's test set."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(CLASSES, FEATURES)) * 1.5

    def drawn(shares: list[float], count: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(CLASSES, size=count, p=shares)
        return (centres[y] + rng.normal(size=(count, FEATURES))).astype(np.float32), y

    kinds = ([0.6, 0.2, 0.2], 40), ([0.1, 0.9, 0.0], 60), ([1 / 3, 1 / 3, 1 / 3], 30), ([0.2, 0.2, 0.6], 50)
    for site, (shares, count) in zip(sites, kinds, strict=False):
        x, y = drawn(shares, count)
        np.savez(folder / f"{site}.npz", x_train=x, y_train=y, x_test=x[:0], y_test=y[:0], num_classes=CLASSES)
    x, y = drawn([1 / 3] * 3, 60)
    np.savez(folder / "server.npz", x_train=x[:0], y_train=y[:0], x_test=x, y_test=y, num_classes=CLASSES)


class Network:
    """Where each host is: a prefix for its commands, its own address, and the server's as it sees it."""

    def __init__(self, sites: Sequence[str] = SITES, namespaces: bool = True) -> None:
        self.tag, self.sites = f"fl{os.getpid() % 100000}", sites
        self.namespaces = namespaces and self._make()

    def _make(self) -> bool:
        if not shutil.which("ip"):
            return False
        try:
            for host in ("server", *self.sites):
                self._ip("netns", "add", f"{self.tag}-{host}")
                self._ip("-n", f"{self.tag}-{host}", "link", "set", "lo", "up")
            for number, site in enumerate(self.sites):
                ours, theirs = f"{self.tag}s{number}", f"{self.tag}c{number}"
                self._ip("link", "add", ours, "type", "veth", "peer", "name", theirs)
                for end, host, last in ((ours, "server", 1), (theirs, site, 2)):
                    space = f"{self.tag}-{host}"
                    self._ip("link", "set", end, "netns", space)
                    self._ip("-n", space, "addr", "add", f"10.213.{number}.{last}/24", "dev", end)
                    self._ip("-n", space, "link", "set", end, "up")
        except subprocess.CalledProcessError:
            self.remove()
            return False
        return True

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def remove(self) -> None:
        for host in ("server", *self.sites):
            subprocess.run(["ip", "netns", "del", f"{self.tag}-{host}"], check=False, capture_output=True)

    def prefix(self, host: str) -> list[str]:
        return ["ip", "netns", "exec", f"{self.tag}-{host}"] if self.namespaces else []

    def server_seen_by(self, site: str) -> str:
        return f"10.213.{self.sites.index(site)}.1" if self.namespaces else "127.0.0.1"

    def set_link(self, site: str, state: str) -> None:
        number = self.sites.index(site)
        self._ip("-n", f"{self.tag}-server", "link", "set", f"{self.tag}s{number}", state)


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def processes_of(folder: Path) -> list[int]:
    """Processes that were started with this folder in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"FEDLOOM_TEST={folder}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended, or is not ours to read
    return found


def tree_of(process: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def alive(processes: set[int]) -> set[int]:
    """Those that go on; one that ended and was not waited for does not."""
    return {one for one in processes if state_of(one) not in ("", "Z")}


def state_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def called(process: int) -> str:
    """What `ps` calls it."""
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


class Federation:
    def __init__(self, folder: Path, sites: Sequence[str] = SITES, namespaces: bool = True) -> None:
        self.folder, self.network = folder, Network(sites, namespaces)
        self.keys = folder / "federation"
        hosts = [self.network.server_seen_by(site) for site in sites] if self.network.namespaces else ["127.0.0.1"]
        make_keys(self.keys, hosts, sites)
        private_data(folder, sites)
        self.fleet, self.control = (9092, 9093) if self.network.namespaces else (free_port(), free_port())
        self.running: Path | None = None  # the folder of the run that was submitted last
        self.number = ""  # of that run
        self.clients: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {**os.environ, "FEDLOOM_TEST": str(folder), "OMP_NUM_THREADS": "1"}

    def start(self, host: str, name: str, *words: str) -> subprocess.Popen[bytes]:
        """`fedloom deploy ...` in a host's namespace, with its output in a file of that name."""
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*self.network.prefix(host), sys.executable, "-m", "simulation", "deploy", *words],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def start_server(self) -> None:
        self.server = self.start(
            "server", "server", "server", "--keys", "federation", "--folder", "server",
            "--fleet", f"0.0.0.0:{self.fleet}", "--control", f"127.0.0.1:{self.control}",
        )  # fmt: skip
        self.until(
            lambda: "Uvicorn running" in self.log("server") or self.server.poll() is not None, "the server's start"
        )
        assert self.server.poll() is None, self.log("server")

    def start_client(self, site: str) -> None:
        address = f"{self.network.server_seen_by(site)}:{self.fleet}"
        self.clients[site] = self.start(
            site, site, "client", "--keys", f"federation/clients/{site}", "--server", address,
            "--data", f"npz:{site}.npz", "--folder", f"client-{site}",
        )  # fmt: skip

    def stop_last(self) -> None:
        """Stop the run that was submitted last; its folder is closed when this returns."""
        folder, self.running = self.running, None
        assert folder is not None
        self.command("stop", self.number)
        self.until((folder / "summary.json").exists, "the end of the run")

    def stop_if_running(self) -> None:
        """Stop what was submitted to the last run's folder, unless it has ended."""
        folder, self.running = self.running, None
        if folder is not None and not (folder / "summary.json").exists() and self.server_apps():
            self.command("stop", folder.name, check=False)  # it may be ending by itself
            self.until(lambda: not self.server_apps(), "the end of the server's app")

    def server_apps(self) -> list[int]:
        return [process for process in processes_of(self.folder) if called(process) == "fedloom-server"]

    def command(self, *words: str, check: bool = True, code: int = 0) -> str:
        """A command of the administrator, on the server's host."""
        done = subprocess.run(
            [*self.network.prefix("server"), sys.executable, "-m", "simulation", "deploy", *words,
             "--control", f"127.0.0.1:{self.control}", "--keys", "federation"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert not check or done.returncode == code, done.stdout + done.stderr + self.log("server")[-3000:]
        return done.stdout + done.stderr

    def submit(self, out: str, config: dict[str, Any], *more: str) -> Path:
        """Start a run with these options; returns its folder."""
        flags = [word for key, value in config.items() for word in (f"--{key}", str(value))]
        said = self.command("submit", *flags, "--dataset", f"npz:{self.folder / 'server.npz'}", "--out", out, *more)
        self.number = said.split("Run ")[1].split()[0]
        self.running = self.folder / "server" / out
        return self.running

    def until(self, happened: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not happened():
            self.check_alive()
            assert time.monotonic() < deadline, (
                f"{what} did not come within {patience:g} s\n{self.log('server')[-3000:]}"
            )
            time.sleep(0.1)

    def check_alive(self) -> None:
        """Fail at once, with what its log says, if the last run has given up."""
        summary = self.running / "summary.json" if self.running else None
        if summary and summary.exists() and not json.loads(summary.read_text())["finished"]:
            raise AssertionError((self.running / "log.txt").read_text() + self.log("server")[-2000:])  # type: ignore[operator]

    def finished(self, folder: Path) -> list[dict[str, Any]]:
        """Wait for a run's end; its records."""
        self.until((folder / "summary.json").exists, f"the end of {folder.name}")
        assert json.loads((folder / "summary.json").read_text())["finished"] is True, self.log("server")[-3000:]
        return records(folder)

    def end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in processes_of(self.folder):
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    continue  # it has just ended
            deadline = time.monotonic() + 10
            while processes_of(self.folder) and time.monotonic() < deadline:
                for started in (self.server, *self.clients.values()):
                    started.poll()  # takes the exit code, so that it is gone
                time.sleep(0.1)
        self.network.remove()


def records(folder: Path) -> list[dict[str, Any]]:
    """The rounds that a run has written so far."""
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
