"""A federation of four sites that is disturbed again and again, and the checks that everything it did can be explained.

    python -m tests.deploy.drills.soak [ROUNDS] [SEED]

Every 20 to 40 s one of these, at random: a site is killed and started again, its app is killed, its link is cut, the server is
killed, started again and the run resumed, or somebody with a site's key takes its message and answers with rubbish.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import client_app
from fl_config.options import as_flat
from fl_runs.plan import make_plan
from server_app import open_server
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import Federation, alive, called, processes_of, records, tree_of

SITES = ("site-a", "site-b", "site-c", "site-d")
SECONDS = 20.0, 40.0  # between two faults
GRACE = 45.0  # seconds after a fault in which its site may still be missing
RUN: dict[str, Any] = {
    "partition": "private", "model": "linear", "strategy": "feddisco", "clients": 4, "epochs": 1, "lr": 0.02,
    "batch-size": 10, "device": "cpu", "min-replies": 2, "round-timeout": 300, "wait": 300,
}  # fmt: skip
EXPLAINED = (
    "its host is gone: two of its heartbeats were missed",
    "its host was started again after it had taken the message",
    "its host did not take the message or did not answer it in time",
    "the client failed: Its process was killed by SIGKILL.",
    "the client failed: what it sent cannot be read",
)


@dataclass
class Fault:
    kind: str
    site: str  # empty for the server's
    began: float
    ended: float = 0.0  # when what was broken was mended

    def explains(self, site: str, began: float, ended: float) -> bool:
        """Whether a site may be missing in a round of that time."""
        return self.site in ("", site) and self.began <= ended and began <= self.ended + GRACE


@dataclass
class Soak:
    """One run of `rounds` rounds on a federation; every fault is noted, and when each round was seen."""

    federation: Federation
    rounds: int
    rng: random.Random
    seconds: tuple[float, float] = SECONDS
    faults: list[Fault] = field(default_factory=list)
    seen: dict[int, float] = field(default_factory=dict)
    resumed: int = 0
    left: set[int] = field(default_factory=set)  # processes that outlived a killed site or server

    @property
    def folder(self) -> Path:
        return self.federation.folder / "server" / "soak"

    def run(self) -> None:
        self.began = time.monotonic()
        self.federation.submit("soak", {**RUN, "rounds": self.rounds})
        self.federation.running = None  # it may end and be resumed
        due = self._next()
        while not self._finished():
            self._look()
            if time.monotonic() > due and self.seen:
                self._disturb()
                due = self._next()
            time.sleep(0.2)
        self._look()

    def _next(self) -> float:
        return time.monotonic() + self.rng.uniform(*self.seconds)

    def _finished(self) -> bool:
        summary = self.folder / "summary.json"
        if not summary.exists():
            return False
        if json.loads(summary.read_text())["finished"]:
            return True
        self._resume()  # it gave up, as an operator would see
        return False

    def _look(self) -> None:
        for line in records(self.folder):
            self.seen.setdefault(line["round"], time.monotonic())

    def _until(self, happened: Callable[[], Any], patience: float) -> bool:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            self._look()
            if happened():
                return True
            time.sleep(0.1)
        return False

    def _disturb(self) -> None:
        kinds = {"kill site": 3, "kill app": 3, "cut link": 3, "rubbish": 3, "kill server": 2}
        if not self.federation.network.namespaces:
            del kinds["cut link"]
        kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
        fault = Fault(kind, "" if kind == "kill server" else self.rng.choice(SITES), time.monotonic())
        self.faults.append(fault)
        print(f"{time.monotonic() - self.began:6.0f} s, round {max(self.seen)}: {kind} {fault.site}", flush=True)
        getattr(self, f"_{kind.replace(' ', '_')}")(fault.site)
        fault.ended = time.monotonic()

    def _ended(self, whole: set[int]) -> None:
        self._until(lambda: not alive(whole), 30)
        self.left |= alive(whole)

    def _kill_site(self, site: str) -> None:
        process = self.federation.clients[site]
        whole = tree_of(process.pid)
        process.kill()
        process.wait()
        self._ended(whole)
        time.sleep(self.rng.uniform(1, 10))
        self.federation.start_client(site)

    def _kill_app(self, site: str) -> None:
        def apps() -> list[int]:
            tree = tree_of(self.federation.clients[site].pid)
            return [one for one in tree if called(one) == "fedloom-client"]

        if self._until(apps, 20):
            for one in apps():
                os.kill(one, signal.SIGKILL)

    def _cut_link(self, site: str) -> None:
        self.federation.network.set_link(site, "down")
        time.sleep(self.rng.uniform(3, 20))
        self.federation.network.set_link(site, "up")

    def _kill_server(self, _: str) -> None:
        whole = tree_of(self.federation.server.pid)
        self.federation.server.kill()
        self.federation.server.wait()
        self._ended(whole)
        (self.federation.folder / "server.log").rename(self.federation.folder / f"server-{self.resumed}.log")
        self.federation.start_server()
        self._resume()

    def _resume(self) -> None:
        self.resumed += 1
        (self.folder / "summary.json").unlink(missing_ok=True)
        self.federation.command("submit", "--resume", str(self.folder))
        done = len(records(self.folder))
        self._until(lambda: len(records(self.folder)) > done or (self.folder / "summary.json").exists(), 240)

    def _rubbish(self, site: str) -> None:
        keys, network = self.federation.keys / "clients" / site, self.federation.network
        words = [
            f"{network.server_seen_by(site)}:{self.federation.fleet}",
            str(keys / "ca.crt"),
            str(keys / f"{site}.key"),
        ]
        words += [str(self._node_of(site)), str(self.rng.randrange(10**6))]
        thief = subprocess.run(
            [*network.prefix(site), sys.executable, "-m", "tests.deploy.drills.thief", *words],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        print(f"         {thief.stdout.strip() or thief.stderr[-500:]}", flush=True)

    def _node_of(self, site: str) -> int:
        """The number that the site's log names last."""
        return int(self.federation.log(site).rpartition("SuperNode ID: ")[2].split()[0])


def unexplained(soak: Soak) -> list[str]:
    """Everything in the records that no fault, no reason and no rule explains."""
    lines = records(soak.folder)
    wrong = []
    if [line["round"] for line in lines] != list(range(soak.rounds + 1)):
        wrong.append(f"the rounds are {[line['round'] for line in lines]}")
    before = soak.began
    for line in lines[1:]:
        number, cohort = line["round"], line["cohort"]
        dropped = {one["id"]: one["reason"] for one in line["dropped"]}
        ended = soak.seen.get(number, before)
        if set(cohort) & dropped.keys() or len(set(cohort)) != len(cohort):
            wrong.append(f"round {number}: {cohort} and {dropped} overlap")
        if cohort and not (len(line["weights"]) == len(cohort) and abs(sum(line["weights"]) - 1) < 1e-6):
            wrong.append(f"round {number}: the weights are {line['weights']}")
        for site, reason in dropped.items():
            if not reason.startswith(EXPLAINED):
                wrong.append(f"round {number}: {site} is left out for an unknown reason: {reason}")
        for site in set(SITES) - set(cohort):
            few = site not in dropped and not cohort  # fewer than the round needs: nobody is used
            if not few and not any(fault.explains(site, before, ended) for fault in soak.faults):
                wrong.append(
                    f"round {number}: {site} is missing ({dropped.get(site, 'not asked')}), and nothing happened to it"
                )
        before = ended
    model = load_file(soak.folder / "model.safetensors")
    if not all(np.isfinite(value).all() for value in model.values()):
        wrong.append("the model is not finite")
    if soak.left:
        wrong.append(f"processes {soak.left} outlived what had started them")
    return wrong


def undisturbed(folder: Path, rounds: int, seeds: int = 5) -> list[float]:
    """The final loss of the same run without faults on the inline engine, which gives the same bits, with several seeds."""
    found = []
    for seed in range(seeds):
        out = folder / f"undisturbed-{seed}"
        plan = make_plan(
            {**RUN, "rounds": rounds, "seed": seed, "dataset": f"npz:{folder / 'server.npz'}", "out": str(out)}
        )
        grid = InlineGrid(client_app.app, len(SITES), as_flat(plan.config))
        for context, site in zip(map(grid.context, grid.get_node_ids()), SITES, strict=True):
            own = {"name": site, "data": f"npz:{folder / site}.npz", "state": str(out / "state" / site)}
            context.node_config = own
        open_server(plan).run(grid)
        found.append(float(records(out)[-1]["global/loss"]))
    return found


def soaked(folder: Path, rounds: int, seed: int, seconds: tuple[float, float] = SECONDS) -> tuple[Soak, list[str]]:
    """Run it; what it did, and what cannot be explained."""
    federation = Federation(folder, SITES)
    soak = Soak(federation, rounds, random.Random(seed), seconds)
    try:
        federation.start_server()
        federation.command("register")
        for site in SITES:
            federation.start_client(site)
        soak.run()
    finally:
        federation.end()
    wrong = unexplained(soak)
    if left := processes_of(folder):
        wrong.append(f"processes {left} are left")
    losses = undisturbed(folder, rounds)
    final = float(records(soak.folder)[-1]["global/loss"])
    mean, spread = float(np.mean(losses)), float(np.std(losses))
    print(f"final loss {final:.4f}; without faults {mean:.4f}, deviation {spread:.4f} over {len(losses)} seeds")
    if abs(final - mean) > max(5 * spread, 0.05 * mean):
        wrong.append(f"the final loss is {final}, but {mean} without faults")
    return soak, wrong


def main(rounds: int = 200, seed: int = 0) -> int:
    with tempfile.TemporaryDirectory() as made:
        began = time.monotonic()
        soak, wrong = soaked(Path(made), rounds, seed)
        lines = records(soak.folder)
        minutes = (time.monotonic() - began) / 60
        print(
            f"{rounds} rounds, {len(soak.faults)} faults in {minutes:.0f} min: {dict(Counter(f.kind for f in soak.faults))}"
        )
        reasons = Counter(one["reason"] for line in lines for one in line.get("dropped", []))
        print(f"resumed {soak.resumed} times; left out: {dict(reasons)}")
        print(f"longest round {max(sum(line['seconds'].values()) for line in lines[1:]):.0f} s")
        for sentence in wrong:
            print(f"UNEXPLAINED: {sentence}")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
