"""A real Ray cluster of two nodes on this machine, the second of which has a mount namespace of its own: it sees other files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ray._raylet import GcsClient

START = [str(Path(sys.executable).with_name("ray")), "start", "--num-cpus=1", "--disable-usage-stats", "--block"]
UP_WITHIN = 60.0


@dataclass
class TwoNodes:
    """`head` starts the cluster, `join` a node that sees an empty folder in place of each of `hidden`; `end` ends all of them."""

    folder: Path
    address: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    own: tempfile.TemporaryDirectory[str] = field(init=False)

    def head(self) -> None:
        self.address = f"127.0.0.1:{self._free_port()}"
        # In Ray's usual folder any `ray.init()` on this machine would find this cluster. The path of a socket must be short.
        self.own = tempfile.TemporaryDirectory(prefix="two-nodes-", ignore_cleanup_errors=True)
        own = f"--temp-dir={self.own.name}"
        self._start(
            [
                *START,
                "--head",
                f"--port={self.address.partition(':')[2]}",
                "--include-dashboard=false",
                "--no-monitor",
                own,
            ],
            {},
        )
        self._wait(1)

    def join(
        self, hidden: Sequence[Path] = (), swapped: dict[Path, Path] | None = None, **environment: str
    ) -> subprocess.Popen[bytes]:
        """Another node; `swapped` files are seen with the content of others."""
        mounts = [f"mount -t tmpfs none '{place}'" for place in hidden]
        mounts += [f"mount --bind '{other}' '{place}'" for place, other in (swapped or {}).items()]
        script = " && ".join([*mounts, 'exec "$@"'])
        alone = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        before = len(self.alive())
        process = self._start([*alone, *START, f"--address={self.address}"], environment)
        self._wait(before + 1)
        return process

    def leave(self, process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
        """End a node with everything in it; with SIGKILL as if its machine had lost power."""
        os.killpg(process.pid, how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
        self.processes.remove(process)

    def end(self) -> None:
        for process in reversed(self.processes.copy()):
            self.leave(process)
        self.own.cleanup()

    def alive(self) -> list[str]:
        """The ids of nodes that are alive, as the cluster says."""
        nodes = GcsClient(address=self.address).get_all_node_info().values()
        return [node.node_id.hex() for node in nodes if node.state == 0]

    def _start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"node-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
            )
        self.processes.append(process)
        return process

    def _wait(self, nodes: int) -> None:
        deadline = time.monotonic() + UP_WITHIN
        while time.monotonic() < deadline:
            if self._listens() and len(self.alive()) >= nodes:
                return
            time.sleep(0.2)
        logs = "\n".join(path.read_text() for path in self.folder.glob("node-*.log"))
        raise TimeoutError(f"the cluster at {self.address} has no {nodes} nodes:\n{logs}")

    def _listens(self) -> bool:
        host, _, port = self.address.partition(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    @staticmethod
    def _free_port() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])
