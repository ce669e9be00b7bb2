"""A federation of four sites that is disturbed again and again, and the checks that everything it did can be explained.

    python -m tests.deploy.drills.soak [ROUNDS] [SEED]

Every 20 to 40 s one of these, at random: a site is killed and started again, its app is killed, its link is cut, the server is
killed, started again and the run resumed, or somebody with a site's key takes its message and answers with rubbish.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deploy.upkeep import DATABASE
from tests.deploy.drills.explained import Fault, again, differing, unexplained
from tests.deploy.federation import Federation, alive, called, processes_of, records, tree_of

SITES = ("site-a", "site-b", "site-c", "site-d")
SECONDS = 20.0, 40.0  # between two faults
SEEDS = 5  # of the same run without faults, whose figures differ by so much by chance
FIRST_ROUND = re.compile(r"clients, rounds (\d+) to ")  # said at the start of a run
HUNG = 900.0  # seconds in which a round must end, whatever happens to it
RUN: dict[str, Any] = {
    "partition": "private", "model": "linear", "strategy": "feddisco", "clients": 4, "epochs": 1, "lr": 0.02,
    "batch-size": 10, "device": "cpu", "min-replies": 2, "round-timeout": 300, "wait": 300,
}  # fmt: skip


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
    undone: int = 0  # rounds that were finished when the server was killed, and had to be run again
    left: set[int] = field(default_factory=set)  # processes that outlived a killed site or server

    @property
    def folder(self) -> Path:
        return self.federation.folder / "server" / "soak"

    def run(self) -> None:
        self.began = self.moved = time.monotonic()
        self.federation.submit("soak", {**RUN, "rounds": self.rounds})
        self.federation.running = None  # it may end and be resumed
        due = self._next()
        while not self._finished():
            self._look()
            assert time.monotonic() - self.moved < HUNG, f"nothing has moved since round {max(self.seen, default='-')}"
            if time.monotonic() > due and self.seen:
                self._disturb()
                due = self._next()
            time.sleep(0.2)
        self._look()

    def _next(self) -> float:
        return time.monotonic() + self.rng.uniform(*self.seconds)

    def _finished(self) -> bool:
        if self._told() == "stopped":
            self._resume()  # it gave up, as an operator would see
        return self._told() == "finished"

    def _told(self) -> str:
        """What the run's folder says of its end."""
        summary = self.folder / "summary.json"
        if not summary.exists():
            return ""
        return "finished" if json.loads(summary.read_text())["finished"] else "stopped"

    def _look(self) -> None:
        for line in records(self.folder):
            if line["round"] not in self.seen:
                self.seen[line["round"]] = self.moved = time.monotonic()

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
        if self._told() == "finished":
            return  # in the same moment
        self.resumed += 1
        (self.folder / "summary.json").unlink(missing_ok=True)
        done, before = len(records(self.folder)) - 1, len(FIRST_ROUND.findall(self.federation.log("server")))
        self.federation.command("submit", "--resume", str(self.folder))
        if self._until(lambda: len(FIRST_ROUND.findall(self.federation.log("server"))) > before, 240):
            self.undone += done - (int(FIRST_ROUND.findall(self.federation.log("server"))[-1]) - 1)

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
        """Its number, which only the server's database tells: logs speak of sites by name."""
        place = self.federation.folder / "server" / DATABASE
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as opened:
            (number,) = opened.execute("SELECT node_id FROM node WHERE name = ?", (site,)).fetchone()
        return int(number) % (1 << 64)  # SQLite has signed numbers only


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
    wrong = unexplained(soak.folder, SITES, rounds, soak.faults, soak.began, soak.seen)
    if left := soak.left | set(processes_of(folder)):
        wrong.append(f"processes {left} outlived what had started them")
    wrong += differing(soak.folder, folder, SITES, {**RUN, "rounds": rounds})
    wrong += beyond_noise(soak.folder, folder, rounds)
    return soak, wrong


def beyond_noise(disturbed: Path, folder: Path, rounds: int) -> list[str]:
    """Whether the run ended elsewhere than the same run without faults, with several seeds, in one process."""
    run = {**RUN, "rounds": rounds}
    calm = [again(folder, folder / f"calm-{seed}", SITES, {**run, "seed": seed})[-1] for seed in range(SEEDS)]
    wrong = []
    for key in ("global/loss", "global/accuracy"):
        final, others = float(records(disturbed)[-1][key]), [float(line[key]) for line in calm]
        mean, spread = float(np.mean(others)), float(np.std(others))
        told = f"{key} {final:.4f}; without faults {others[0]:.4f} with the same seed, {mean:.4f} on average of {SEEDS} seeds"
        print(f"{told}, deviation {spread:.4f}")
        if abs(final - mean) > max(5 * spread, 0.05 * mean):
            wrong.append(f"the final {key} is {final}, but {mean} without faults")
    return wrong


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
        asked = len(SITES) * rounds - sum(len(line["cohort"]) for line in lines[1:])
        print(
            f"{asked} of {len(SITES) * rounds} contributions are missing, {sum(reasons.values())} of them: {dict(reasons)}"
        )
        print(f"rounds without a step: {sum(not line['cohort'] for line in lines[1:])}")
        print(f"resumed {soak.resumed} times, {soak.undone} finished rounds run again")
        print(f"longest round {max(sum(line['seconds'].values()) for line in lines[1:]):.0f} s")
        for sentence in wrong:
            print(f"UNEXPLAINED: {sentence}")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
