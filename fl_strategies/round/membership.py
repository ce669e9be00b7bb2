"""Who is in the federation: clients by their own id, whatever node ids Flower gave them.

Every client is asked once who it is. A simulation knows that of its own clients (`Census`) and asks one of them only.
Nothing here goes over all clients again while nobody comes or goes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Message, MessageType
from flwr.serverapp import Grid
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.codec import pack
from fl_protocol.messages import Introduce, Setup
from fl_protocol.replies import BadReply, Introduction
from fl_protocol.types import ClientId
from fl_strategies.population.census import Census, Foretold, OnlyTheClientKnows
from fl_strategies.population.names import Names
from fl_strategies.round.cohort import Population
from fl_strategies.round.exchange import RunStopped, exchange
from fl_strategies.round.records import Journal
from fl_strategies.round.secure.secure_sum import secure_sum
from fl_strategies.sampling import ordered

log = logging.getLogger("fedloom")
PAUSE = 0.05
Totals = dict[str, NDArray[np.int64]]


@dataclass
class Questions:
    """What the recipe wants to know of every client, and which sums over all clients it must know to ask."""

    part: str = ""  # the part that asks, named in errors
    sums: tuple[str, ...] = ()
    asks: Callable[[Totals], Mapping[str, dict[str, Any]]] = field(default=lambda totals: {})


class Membership:
    """Waits `wait` seconds for clients to connect, and `timeout` for their answers, which must be as `expects` says."""

    def __init__(
        self,
        questions: Questions,
        setup: Setup,
        min_clients: int,
        wait: float,
        timeout: float,
        stop: threading.Event,
        expects: Mapping[str, Any] | None = None,
        census: Census | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.questions, self.setup, self.expects, self.census = questions, setup, expects or {}, census
        self.min_clients, self.wait, self.timeout, self.stop = min_clients, wait, timeout, stop
        self.journal = journal or Journal(())
        self.nodes: dict[ClientId, int] = {}  # where each client is now
        self.clients: dict[int, ClientId] = {}
        self.names = Names(self.clients)
        self.answers: Mapping[ClientId, Mapping[str, float]] = {}
        self.sizes: dict[ClientId, int] = {}
        self.population = Population({})
        self.online: Sequence[ClientId] = ()  # in the order of `client_order`
        self.refused: dict[int, str] = {}
        self.totals: Totals = {}  # sums over all clients, by name
        self._settled: range | frozenset[int] | None = None  # the nodes that were there when all were last known
        # What the clients say of their model, which is the same for all of them.
        self.parameters: list[str] = []
        self.head_names: list[str] = []
        self.trunk_end: list[str] = []

    def register(self, grid: Grid) -> None:
        """Wait for the clients and query them all; too few is an error that says how many came."""
        deadline = time.monotonic() + self.wait
        while len(nodes := nodes_of(grid)) < self.min_clients:
            if self.stop.is_set():
                raise RunStopped
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"{self.min_clients} clients are needed, but only {len(nodes)} connected within {self.wait:g} s: start more, "
                    "or lower --clients (under `flwr run`, `flwr federation simulation-config` sets how many there are)."
                )
            self.stop.wait(PAUSE)
        self.refresh(grid)
        if len(self.online) < self.min_clients:
            reasons = "; ".join(sorted(set(self.refused.values()))[:3]) or "the others did not answer"
            raise ConfigError(
                f"{self.min_clients} clients are needed, but only {len(self.online)} can take part: {reasons}."
            )

    def refresh(self, grid: Grid, needed: int = 0) -> None:
        """Learn who came and who went since the last round; wait for those needed, as a round waits for replies."""
        deadline = time.monotonic() + self.timeout
        self._look(grid)
        while len(self.online) < needed and time.monotonic() < deadline:
            if self.stop.is_set():
                raise RunStopped
            self.stop.wait(PAUSE)
            self._look(grid)

    def _look(self, grid: Grid) -> None:
        present = nodes_of(grid)
        if present == self._settled:
            return
        # A node that was refused and went away may come back better.
        self.refused = {node: reason for node, reason in self.refused.items() if node in present}
        if self.census and not self.clients and self.census.nodes == present:
            self._take_from(self.census, grid)
        elif fresh := self._unknown(present):
            self._query(grid, fresh)
        for node, client in self.clients.items():
            if self.nodes[client] not in present and node in present:
                self.nodes[client] = node  # it was at two nodes, and the newer one is gone
        before = frozenset(self.online)
        self.online = ordered(client for client, node in self.nodes.items() if node in present)
        if before:
            self._tell_changes(before)
        self._settled = None if self._unknown(present) else present

    def _tell_changes(self, before: frozenset[ClientId]) -> None:
        now = frozenset(self.online)
        if gone := ordered(before - now):
            log.warning("no longer connected: %s; %d clients are", ", ".join(map(str, gone)), len(now))
        if came := ordered(now - before):
            log.info("connected: %s; %d clients are now", ", ".join(map(str, came)), len(now))

    def _unknown(self, nodes: Iterable[int]) -> list[int]:
        return sorted(node for node in nodes if node not in self.clients and node not in self.refused)

    def node(self, client: ClientId) -> int:
        return self.nodes[client]

    def client(self, node: int) -> ClientId:
        return self.clients[node]

    def trained_names(self, named: Iterable[str]) -> list[str]:
        """Which arrays of the server's model are trained, as the clients say; the rest are buffers."""
        known, trained = list(named), set(self.parameters)
        if odd := sorted(trained.difference(known)):
            raise ConfigError(
                f"The clients train {odd[0]!r}, which the server's initial model does not have: both must build the same model."
            )
        return [name for name in known if name in trained]

    def _missing_sums(self) -> list[str]:
        """They are summed once per run."""
        return [name for name in self.questions.sums if name not in self.totals]

    def _take_from(self, census: Census, grid: Grid) -> None:
        """Ask one client by message, for what the census does not have; everybody, where the census does not have enough."""
        everybody = list(census.nodes)
        if self._missing_sums():
            self._query(grid, everybody)
            return
        asks = dict(self.questions.asks(self.totals))
        try:
            foretold = census.numbers(0, asks)
        except OnlyTheClientKnows:
            self._query(grid, everybody)
            return
        self._query(grid, everybody[:1])
        first = census.ids[0]
        if first not in self.nodes:
            return  # what keeps this one away keeps the others away
        if (self.sizes[first], self.answers[first]) != (int(census.sizes[0]), foretold):
            log.warning("client %s describes its data otherwise than the partition does; every client is asked", first)
            self._query(grid, everybody[1:])
            return
        self.nodes = dict(zip(census.ids, everybody, strict=True))
        self.clients.update(zip(everybody, census.ids, strict=True))
        self.sizes = dict(zip(census.ids, census.sizes.tolist(), strict=True))
        self.answers = Foretold(census, asks, self.nodes)
        self.population = Population(self.sizes)

    def _query(self, grid: Grid, nodes: list[int]) -> None:
        # The first message may find a host that has yet to import everything, however short the rounds are.
        patience = max(self.timeout, self.wait)
        for name in self._missing_sums():
            self.totals[name] = secure_sum(grid, nodes, name, self.questions.part, self.setup, patience, self.stop)
        content = pack(Introduce(self.setup, dict(self.questions.asks(self.totals))))
        messages = [Message(content, node, MessageType.QUERY) for node in nodes]
        answers = dict(self.answers)
        self.names.learn(grid)
        for reply in exchange(grid, messages, patience, self.stop):
            node = reply.metadata.src_node_id
            try:
                who = Introduction.read(reply)
                self._admit(node, who)
                answers[who.client_id] = who.numbers
            except BadReply as problem:
                self.refused[node] = self.names.about(node, str(problem))
                log.warning("a client cannot take part: %s", self.refused[node])
        self.answers, self.population = answers, Population(dict(self.sizes))

    def _admit(self, node: int, who: Introduction) -> None:
        client = who.client_id
        if (claim := self.names.claim(node, who.site)) is not None:
            raise BadReply(claim)
        for name, expected in self.expects.items():
            given = getattr(who, name)
            if name == "class_names" and not (expected and given):
                continue  # one of the two knows its classes by number only
            if given != expected:
                raise BadReply(f"client {client} has the {name.replace('_', ' ')} {given}, the server {expected}")
        if client in self.nodes and client in self.online and self.nodes[client] != node:
            # The older node stays known, or it would be met anew in the next round and the two would take turns.
            log.warning("client %s is now at another node; the newer one is used", client)
        self.nodes[client], self.clients[node] = node, client
        self.parameters, self.head_names, self.trunk_end = who.parameters, who.head, who.trunk_end
        self.sizes[client] = who.num_examples
        about = {"examples": who.num_examples, "site": who.site, "software": who.software, "node": node}
        self.journal.tell("joined", client, about)


def nodes_of(grid: Grid) -> range | frozenset[int]:
    """The nodes that are there; a range where the grid gives one, which costs nothing to compare."""
    nodes = grid.get_node_ids()
    return nodes if isinstance(nodes, range) else frozenset(nodes)
