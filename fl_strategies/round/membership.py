"""Who is in the federation: clients by their own id, learned from one query each, whatever node ids Flower gave them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
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
from fl_strategies.round.cohort import Population
from fl_strategies.round.exchange import RunStopped, exchange
from fl_strategies.round.secure_sum import secure_sum

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
    ) -> None:
        self.questions, self.setup, self.expects = questions, setup, expects or {}
        self.min_clients, self.wait, self.timeout, self.stop = min_clients, wait, timeout, stop
        self.nodes: dict[ClientId, int] = {}  # where each client is now
        self.clients: dict[int, ClientId] = {}
        self.answers: dict[ClientId, dict[str, float]] = {}
        self.sizes: dict[ClientId, int] = {}
        self.population = Population({})
        self.online: list[ClientId] = []
        self.refused: dict[int, str] = {}
        self.totals: Totals = {}  # sums over all clients, by name
        # What the clients say of their model, which is the same for all of them.
        self.parameters: list[str] = []
        self.head_names: list[str] = []
        self.trunk_end: list[str] = []

    def register(self, grid: Grid) -> None:
        """Wait for the clients and query them all; too few is an error that says how many came."""
        deadline = time.monotonic() + self.wait
        while len(nodes := set(grid.get_node_ids())) < self.min_clients:
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
            reasons = "; ".join(sorted(set(self.refused.values()))[:3])
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
        present = set(grid.get_node_ids())
        # A node that was refused and went away may come back better.
        self.refused = {node: reason for node, reason in self.refused.items() if node in present}
        fresh = sorted(present - self.clients.keys() - self.refused.keys())
        if fresh:
            self._query(grid, fresh)
        self.online = [client for client, node in self.nodes.items() if node in present]

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

    def _query(self, grid: Grid, nodes: list[int]) -> None:
        # The first message may find a host that has yet to import everything, however short the rounds are.
        patience = max(self.timeout, self.wait)
        for name in self.questions.sums:
            if name not in self.totals:  # summed once per run
                self.totals[name] = secure_sum(grid, nodes, name, self.questions.part, self.setup, patience, self.stop)
        content = pack(Introduce(self.setup, dict(self.questions.asks(self.totals))))
        messages = [Message(content, node, MessageType.QUERY) for node in nodes]
        for reply in exchange(grid, messages, patience, self.stop):
            node = reply.metadata.src_node_id
            try:
                self._admit(node, Introduction.read(reply))
            except BadReply as problem:
                self.refused[node] = str(problem)
                log.warning("a client cannot take part: %s", problem)
        self.population = Population(dict(self.sizes))

    def _admit(self, node: int, who: Introduction) -> None:
        client = who.client_id
        for name, expected in self.expects.items():
            given = getattr(who, name)
            if name == "class_names" and not (expected and given):
                continue  # one of the two knows its classes by number only
            if given != expected:
                raise BadReply(f"client {client} has the {name.replace('_', ' ')} {given}, the server {expected}")
        if client in self.nodes and client in self.online and self.nodes[client] != node:
            log.warning("client %s is now at another node; the newer one is used", client)
            self.clients.pop(self.nodes[client], None)
        self.nodes[client], self.clients[node] = node, client
        self.parameters, self.head_names, self.trunk_end = who.parameters, who.head, who.trunk_end
        self.sizes[client], self.answers[client] = who.num_examples, who.numbers
