"""The nodes of a Ray cluster that may have workers, and what is found out about each before it gets one.

A node is compared with the driver: our packages, torch, numpy and Flower, Python's minor version, the data of the run. One that
differs is refused by name: at the start this ends the run, later the node is left out. And a token tells whether the node sees the folder in which
clients keep what they remember: the driver writes a random word into it, and a process on the node reads it. The nodes of a cluster come
and go, so this is looked at again every few seconds while the run goes on.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import FLAGS
from fl_config.our_packages import OUR_NAMES
from simulation.engines.cluster.errands import Facts, data_checker, fact_finder, sweeper, token_reader
from simulation.engines.cluster.travelling import scratch_folder
from simulation.engines.worker_start import homes

log = logging.getLogger("fedloom")
PACKAGES = ("torch", "numpy", "flwr")
LOOK_EVERY = 3.0  # seconds between two looks at the cluster
ANSWER_WITHIN = 120.0  # seconds in which a node must say what it has
SAY_EVERY = 10.0  # seconds after which it is said again what is waited for
SWEEP_WITHIN = 10.0
Examination = Generator[Any, Any, "Node"]


@dataclass(frozen=True)
class Node:
    """A node that may have workers."""

    id: str
    name: str
    shared: bool  # whether it sees the driver's folder


def differences(theirs: Facts, ours: Facts) -> list[str]:
    """What a node has otherwise than the driver, in words."""
    found = []
    if theirs["source"] != ours["source"]:
        found.append(f"FedLoom's source {theirs['source'][:8]} (the driver has {ours['source'][:8]})")
    for name in ("python", *PACKAGES):
        if theirs[name] != ours[name]:
            found.append(f"{name} {theirs[name]} (the driver has {ours[name]})")
    return found


@dataclass
class Nodes:
    """The nodes on which a run's workers may be. `state` is the driver's folder of what clients remember.

    On one machine there is nothing to find out, and nothing is: see `alone`.
    """

    ray: Any
    run_config: dict[str, Any]
    state: Path
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    known: dict[str, Node] = field(default_factory=dict)
    alone: bool = False
    ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._examined: dict[Any, tuple[dict[str, Any], Examination]] = {}  # by what is waited for
        self._refused: set[str] = set()
        self._sharing: set[str] = set()  # nodes that see the driver's folder
        self._looked = 0.0
        self._expected = ""  # the driver's checksum of the data
        self._heard: set[str] = set()  # nodes that have said what they have

    # What the pool asks

    def is_away(self, node: str) -> bool:
        """Whether clients on this node do not see the driver's folder, as far as anybody knows."""
        return not self.alone and node not in self._sharing

    def has_left(self, node: str) -> bool:
        return not self.alone and node not in self._present()

    def options(self) -> dict[str, Any]:
        """What keeps Ray from starting a worker on a node that nobody has looked at."""
        if self.alone:
            return {}
        return {"label_selector": {"ray.io/node-id": f"in({','.join(self.known) or 'none'})"}}

    def at_work(self) -> list[dict[str, Any]]:
        """What Ray says of the nodes that may have workers."""
        return [node for key, node in self._present().items() if self.alone or key in self.known]

    def changed(self) -> bool:
        """Whether nodes have come or gone since the last time."""
        if self.alone or time.monotonic() - self._looked < LOOK_EVERY:
            return False
        self._looked = time.monotonic()
        before = self.known
        alive = self._present()
        self.known = {key: node for key, node in before.items() if key in alive}
        for key in alive.keys() - self.known.keys() - self._refused - self._in_question():
            self._begin(alive[key])
        self._advance(0.0, self._leave_out)
        for gone in before.keys() - self.known.keys():
            log.warning("the Ray node %s has left; its clients are run elsewhere", before[gone].name)
        for come in self.known.keys() - before.keys():
            log.info("the Ray node %s has joined", self.known[come].name)
        return self.known.keys() != before.keys()

    # Finding out

    def survey(self, joined: bool) -> None:
        """Look at all nodes, before any of them has a worker. Raises a sentence that names those that cannot be used.

        A Ray that was not `joined` but started here, and has no node but this one, needs no look.
        """
        alive = self._present()
        here = self.ray.get_runtime_context().get_node_id()
        if not joined and set(alive) == {here}:
            self.alone = True
            return
        for node in alive.values():
            self._begin(node)
        if self._has_our_data():
            from simulation.engines.cluster.node_data import checksum

            self._expected = checksum(self.run_config)
        complaints: list[str] = []

        def complain(node: dict[str, Any], why: str) -> None:
            complaints.append(f"{name_of(node)} {why}")

        began = said = time.monotonic()
        while self._examined:
            self._advance(0.2, complain)
            now, left = time.monotonic(), [name_of(node) for node, _ in self._examined.values()]
            mute = [name_of(node) for node, _ in self._examined.values() if node["NodeID"] not in self._heard]
            if self.ending.is_set():
                return
            if left and now - said > SAY_EVERY:
                said = now
                log.info("waiting for what the Ray nodes say of their data: %s", ", ".join(left))
            if mute and now - began > ANSWER_WITHIN:
                complaints += [f"{name} gives no answer" for name in mute]
                break
        if complaints:
            one = "node" if len(complaints) == 1 else "nodes"
            raise ConfigError(
                f"The Ray cluster has {len(complaints)} {one} that this run cannot use: {'; '.join(complaints)}. "
                "Make them like the driver's machine, or take them out of the cluster."
            )
        away = [node.name for node in self.known.values() if not node.shared]
        if away:
            log.info("what clients remember travels to and from %s, which do not share %s", ", ".join(away), self.state)
        self._looked = time.monotonic()

    def _examine(self, node: dict[str, Any]) -> Examination:
        """Yields what is waited for; raises a ConfigError that says why the node cannot be used."""
        found = homes()
        facts = yield self._errand(node, fact_finder(), found, OUR_NAMES, PACKAGES)
        self._heard.add(node["NodeID"])
        ours = fact_finder()(found, OUR_NAMES, PACKAGES)
        if other := differences(facts, ours):
            raise ConfigError(f"has {', '.join(other)}")
        if facts["processor"] != ours["processor"]:
            other_kind = (
                "the Ray node %s has another processor (%s) than the driver (%s): the last bits may differ there"
            )
            log.warning(other_kind, name_of(node), facts["processor"], ours["processor"])
        with self._token() as (place, token):
            shared = (yield self._errand(node, token_reader(), str(place))) == token
        if self._has_our_data():
            current = str(Path.cwd())
            theirs, complaint = yield self._errand(node, data_checker(), found, current, sys.path, self.run_config)
            if complaint:
                raise ConfigError(f"cannot use the data of this run: {complaint.rstrip('.')}")
            if theirs != self._expected:
                raise ConfigError(f"has other data under the name {self.run_config['dataset']!r} than the driver")
        return Node(node["NodeID"], name_of(node), shared)

    @contextlib.contextmanager
    def _token(self) -> Iterator[tuple[Path, str]]:
        """A file with a random word. It lies in the state folder, or where there is none yet in the nearest folder above:
        whoever sees that one sees all that will be made in it."""
        folder = next(place for place in (self.state, *self.state.parents) if place.is_dir())
        token = secrets.token_hex(16)
        path = folder / f".fedloom-{token[:8]}"
        path.write_text(token)
        try:
            yield path, token
        finally:
            path.unlink(missing_ok=True)

    def _errand(self, node: dict[str, Any], what: Callable[..., Any], *given: Any) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        task = self.ray.remote(what).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
        return task.remote(*given)

    def _begin(self, node: dict[str, Any]) -> None:
        examination = self._examine(node)
        self._examined[next(examination)] = node, examination

    def _advance(self, timeout: float, refuse: Callable[[dict[str, Any], str], None]) -> None:
        """Go on with what has been answered."""
        from ray.exceptions import RayError

        if not self._examined:
            return
        for ref in self.ray.wait(list(self._examined), num_returns=1, timeout=timeout)[0]:
            node, examination = self._examined.pop(ref)
            try:
                self._examined[examination.send(self.ray.get(ref))] = node, examination
            except StopIteration as done:
                self.known[done.value.id] = done.value
                self._sharing |= {done.value.id} if done.value.shared else set()
            except ConfigError as problem:
                refuse(node, str(problem))
            except RayError as error:
                examination.close()
                if node["NodeID"] in self._present():
                    refuse(node, f"could not be looked at ({type(error).__name__})")

    def _leave_out(self, node: dict[str, Any], why: str) -> None:
        self._refused.add(node["NodeID"])
        log.warning("the Ray node %s %s: it gets no workers", name_of(node), why)

    def _has_our_data(self) -> bool:
        """Whether the run config is one of ours: a foreign app has data of its own, of which nobody here knows."""
        return FLAGS.keys() <= self.run_config.keys()

    def _in_question(self) -> set[str]:
        return {node["NodeID"] for node, _ in self._examined.values()}

    def _present(self) -> dict[str, dict[str, Any]]:
        """The nodes that are alive and take work, by id."""
        return {
            node["NodeID"]: node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        }

    # Ending

    def tidy(self) -> None:
        """Remove what workers left on nodes that do not share the driver's disk."""
        present = self._present() if any(not node.shared for node in self.known.values()) else {}
        swept = [
            self._errand(present[key], sweeper(), scratch_folder(self.run, key).name)
            for key, node in self.known.items()
            if not node.shared and key in present
        ]
        for _, examination in self._examined.values():
            examination.close()
        if swept:
            self.ray.wait(swept, num_returns=len(swept), timeout=SWEEP_WITHIN)


def name_of(node: dict[str, Any]) -> str:
    """A node by its address and its host's name."""
    return f"{node['NodeManagerAddress']} ({node['NodeManagerHostname']})"
