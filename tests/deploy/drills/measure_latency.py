"""Seconds that a round of an idle three-node federation takes, with Flower's waiting and with ours.

    python -m tests.deploy.drills.measure_latency

prints the table of docs/deployment.md: a linear model on a few dozen samples, so that what is measured is waiting.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.bundle import write_app
from deploy.connection import command, environment
from fedloom.cli.deploy import node_config
from tests.deploy.federation import SITES, Federation, free_port

ROUNDS = 8
PLAIN_SERVER = """
from fl_strategies import strategy
strategy.exchange = lambda grid, messages, timeout, stop, enough=None: grid.send_and_receive(messages, timeout=timeout)
"""  # and with it Flower's own pauses for the parts of a reply


class PlainNodes(Federation):
    """Clients under Flower's own command."""

    def start_client(self, site: str) -> None:
        keys, folder = self.keys / "clients" / site, self.folder / f"client-{site}"
        folder.mkdir()
        words = [
            *self.network.prefix(site), command("flower-supernode"), "--root-certificates", str(keys / "ca.crt"),
            "--auth-supernode-private-key", str(keys / f"{site}.key"),
            "--superlink", f"{self.network.server_seen_by(site)}:{self.fleet}",
            "--port", str(9094 if self.network.namespaces else free_port()),
            "--node-config", node_config(site, f"npz:{self.folder / site}.npz", None, folder / "state"),
        ]  # fmt: skip
        with (self.folder / f"{site}.log").open("ab") as log:
            variables = environment(folder / "flower") | {"FEDLOOM_TEST": str(self.folder)}
            del variables["FLWR_SUPEREXEC_TASK_POLL_INTERVAL"]
            self.clients[site] = subprocess.Popen(words, cwd=folder, env=variables, stdout=log, stderr=log)


def measured(kind: type[Federation]) -> dict[str, list[float]]:
    """Seconds of each round after the first, by who waits on the server."""
    found = {}
    with tempfile.TemporaryDirectory() as made:
        federation = kind(Path(made))
        try:
            federation.start_server()
            federation.command("register")
            for site in SITES:
                federation.start_client(site)
            app = write_app(Path(made) / "app")
            wiring = (app / "fedloom_app.py").read_text()
            config = {"partition": "private", "model": "linear", "clients": 3, "rounds": ROUNDS, "wait": 120}
            for name, code in (("send_and_receive", PLAIN_SERVER), ("exchange", "")):
                (app / "fedloom_app.py").write_text(wiring + code)
                lines = federation.finished(federation.submit(name, config, "--app", str(app)))
                found[name] = [line["seconds"]["train"] for line in lines[2:]]
        finally:
            federation.end()
    return found


def main() -> None:
    for title, kind in (("flower-supernode", PlainNodes), ("fedloom deploy client", Federation)):
        for server, seconds in measured(kind).items():
            figures = f"median {statistics.median(seconds):.2f} s, {min(seconds):.2f} to {max(seconds):.2f}"
            print(f"{title:>22} | {server:>16} | {figures}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
