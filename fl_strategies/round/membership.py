"""Who is in the federation: clients by their own id, learned from one query each, whatever node ids Flower gave them."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid
from numpy.typing import NDArray

from clients.client import CLASS_NAMES, CONFIG, METHOD
from fl_config.errors import ConfigError
from fl_data.discrepancy import GLOBAL
from fl_protocol.replies import first_line
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Population
from fl_strategies.round.exchange import RunStopped, exchange
from fl_strategies.round.secure_sum import secure_sum

log = logging.getLogger("fedloom")
PAUSE = 0.05


class Membership:
    def __init__(
        self,
        asks: Mapping[str, dict[str, Any]],
        min_clients: int,
        wait: float,
        timeout: float,
        stop: threading.Event,
        expects: Mapping[str, Any] | None = None,
    ) -> None:
        """Wait `wait` seconds for clients to connect, and `timeout` for their answers, which must be as `expects` says."""
        self.expects = expects or {}
        self.asks, self.min_clients, self.wait, self.timeout, self.stop = asks, min_clients, wait, timeout, stop
        self.nodes: dict[ClientId, int] = {}  # where each client is now
        self.clients: dict[int, ClientId] = {}
        self.answers: dict[ClientId, dict[str, float]] = {}
        self.population = Population({})
        self.online: list[ClientId] = []
        self.refused: dict[int, str] = {}
        self._parameters: list[str] = []
        self.head_names: list[str] = []
        self.class_totals: NDArray[np.int64] | None = None  # over all clients, where the recipe asks for it
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
        self.refused = {
            node: reason for node, reason in self.refused.items() if node in present
        }  # it may come back better
        fresh = sorted(present - self.clients.keys() - self.refused.keys())
        if fresh:
            self._query(grid, fresh)
        self.online = [client for client, node in self.nodes.items() if node in present]

    def node(self, client: ClientId) -> int:
        return self.nodes[client]

    def client(self, node: int) -> ClientId:
        return self.clients[node]

    def parameter_names(self, named: Mapping[str, np.ndarray[Any, Any]]) -> list[str]:
        """Which arrays are trained, as the clients say; the rest are buffers."""
        if set(self._parameters) - named.keys():
            odd = sorted(set(self._parameters) - named.keys())[0]
            raise ConfigError(
                f"The clients train {odd!r}, which the server's initial model does not have: both must build the same model."
            )
        return [name for name in named if name in set(self._parameters)]

    def _questions(self, grid: Grid, nodes: list[int]) -> dict[str, dict[str, Any]]:
        """What the recipe asks, with the joint class distribution filled in where it is asked for; summed once a run."""
        if all(arguments.get("target") != GLOBAL for arguments in self.asks.values()):
            return dict(self.asks)
        if self.class_totals is None:
            self.class_totals = secure_sum(grid, nodes, max(self.timeout, self.wait), self.stop)
        target = (self.class_totals / self.class_totals.sum()).tolist()
        return {
            name: {**arguments, "target": target} if arguments.get("target") == GLOBAL else arguments
            for name, arguments in self.asks.items()
        }

    def _query(self, grid: Grid, nodes: list[int]) -> None:
        config = ConfigRecord({METHOD: json.dumps({"asks": self._questions(grid, nodes)})})
        messages = [Message(RecordDict({CONFIG: config}), node, MessageType.QUERY) for node in nodes]
        # The first message may find a host that has yet to import everything, however short the rounds are.
        for reply in exchange(grid, messages, max(self.timeout, self.wait), self.stop):
            node = reply.metadata.src_node_id
            if reply.has_error():
                self.refused[node] = first_line(reply.error.reason)
                log.warning("a client cannot take part: %s", self.refused[node])
                continue
            self._admit(node, dict(reply.content[CONFIG]))  # type: ignore[call-overload]
        self.population = Population({client: int(answer["num-examples"]) for client, answer in self.answers.items()})

    def _admit(self, node: int, answer: dict[str, Any]) -> None:
        client: ClientId = answer["client-id"]
        for key, expected in self.expects.items():
            if key == CLASS_NAMES and not (expected and answer.get(key)):
                continue  # one of the two knows its classes by number only
            if answer.get(key) != expected:
                what = key.replace("-", " ")
                self.refused[node] = f"client {client} has the {what} {answer.get(key)}, the server {expected}"
                log.warning("a client cannot take part: %s", self.refused[node])
                return
        if client in self.nodes and client in self.online and self.nodes[client] != node:
            log.warning("client %s is now at another node; the newer one is used", client)
            self.clients.pop(self.nodes[client], None)
        self.nodes[client], self.clients[node] = node, client
        self._parameters = json.loads(answer.get("parameters", "[]"))
        self.head_names = json.loads(answer.get("head", "[]"))
        self.trunk_end = json.loads(answer.get("trunk-end", "[]"))
        self.answers[client] = {
            key: float(value) for key, value in answer.items() if isinstance(value, (int, float)) and key != "client-id"
        }
