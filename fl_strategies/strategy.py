"""The one strategy class: a recipe woven into Flower's message-based `Strategy`.

One round: sample the cohort, send, let clients train, check each reply, weigh, update, evaluate, record. What differs between methods
is in the parts (`weighting/`, `server_update/`, `clients/objectives/`); nothing here names one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from clients.client import CONFIG, EXTRA, METHOD, METRICS
from fl_config.errors import ConfigError
from fl_protocol.arrays import from_record, record_bytes, to_record
from fl_protocol.layout import Layout
from fl_protocol.replies import BadReply, ClientReply, check_round, limit_update, read_reply
from fl_protocol.settings import LocalSettings
from fl_protocol.types import ClientId, client_order
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse
from fl_strategies.round.buffers import average_buffers
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.exchange import exchange
from fl_strategies.round.membership import Membership
from fl_strategies.round.personal_scores import personal_record
from fl_strategies.round.records import Observer, Record, plain
from fl_strategies.round.resources import ServerSide
from fl_strategies.round.rows import Rows
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import Weave
from fl_strategies.sampling import sample_cohort, spare_clients
from fl_strategies.server_update.base import RoundSettings

log = logging.getLogger("fedloom")
CLASS_TOTALS = "class-totals"  # of the secure sum, in the weighting's state: a resumed run weighs as before
UPDATES = "updates"
Evaluate = Callable[[int, ArrayRecord], MetricRecord | None]
Save = Callable[[RunState], bool]


class ComposedStrategy(Strategy):
    """Any method of the project: `ComposedStrategy("feddyn+disco", parts={"disco.a": 0.4})`, in anyone's ServerApp.

    fraction_train   share of the clients in a round; sampler "fixed" or "bernoulli"
    local            how clients train (learning rate and so on); `lr_decay` multiplies the rate after each round
    min_replies      fewest usable replies a round needs; with fewer the model stays as it is
    over_sample      share of clients asked beyond the cohort; the first replies win
    max_update_norm  a client's update of a larger norm is scaled down to it; 0 is no limit
    min_clients      how many clients to wait for before round 1, for at most `wait` seconds
    expects          what clients must answer to the query, such as num-classes; who answers otherwise is refused by name
    side             the server's own model and unlabelled target data, for methods that learn on it
    observers        told about every round
    save, state      called after rounds with everything needed to go on (says whether it wrote it); such a state to go on from
    """

    def __init__(
        self,
        strategy: str | Recipe = "fedavg",
        *,
        parts: Mapping[str, Any] | None = None,
        fraction_train: float = 1.0,
        sampler: str = "fixed",
        seed: int = 0,
        local: LocalSettings | None = None,
        lr_decay: float = 1.0,
        min_replies: int = 1,
        min_clients: int = 1,
        over_sample: float = 0.0,
        max_update_norm: float = 0.0,
        round_timeout: float = 3600.0,
        wait: float = 60.0,
        eval_every: int = 1,
        personal_epochs: int = 0,
        expects: Mapping[str, Any] | None = None,
        side: ServerSide | None = None,
        observers: Sequence[Observer] = (),
        save: Save | None = None,
        state: RunState | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.recipe = parse(strategy) if isinstance(strategy, str) else strategy
        self.parameters = parameters(self.recipe, parts or {})
        if not 0 < fraction_train <= 1:
            raise ConfigError(f"fraction_train is a share above 0 and up to 1, but {fraction_train} was given.")
        self.fraction, self.sampler, self.seed = fraction_train, sampler, seed
        self.local, self.lr_decay = local or LocalSettings(seed=seed), lr_decay
        self.min_replies, self.round_timeout, self.eval_every = min_replies, round_timeout, eval_every
        self.over_sample, self.max_update_norm = over_sample, max_update_norm
        self.observers, self.save, self.stop = list(observers), save, stop or threading.Event()
        self.personal_epochs = personal_epochs
        self.topology = self.recipe.topology_of(self.parameters)
        self.weave = Weave(self.recipe, self.parameters, side)
        self.members = Membership(self.weave.asks(), min_clients, wait, round_timeout, self.stop, expects)
        self.members.class_totals = state.weighting.get(CLASS_TOTALS) if state else None
        self.state = state
        self.rounds = 0
        self._layout: Layout | None = None
        self._saved_acked: dict[ClientId, int] = dict(state.acked) if state else {}
        self._record: Record = {}
        self._sent: dict[int, ClientId] = {}
        self._rows: dict[str, Rows] = {}  # what this round's replies brought
        self._enough = 0  # replies that end a round

    # Flower's interface

    def summary(self) -> None:
        log.info("strategy %s: %s", self.recipe.name, ", ".join(self.recipe.parts))
        for key, value in flat_parameters(self.parameters).items():
            log.info("  %s = %s", key, value)

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Evaluate | None = None,
    ) -> Result:
        """Run rounds 1..num_rounds, or go on after the round of `state`."""
        self.rounds = num_rounds
        self.round_timeout = min(self.round_timeout, timeout)
        result = Result()
        self.members.register(grid)
        arrays = self._prepare(initial_arrays)
        state = self._state
        first = state.round + 1
        self._tell(
            "started",
            {
                "strategy": self.recipe.name,
                "clients": self.members.population.count,
                "rounds": num_rounds,
                "first_round": first,
            },
        )
        if first == 1:
            self._record = {"round": 0}
            self._prepare_clients(grid)
            self._evaluate(0, evaluate_fn, result)
            self._tell("recorded", plain(self._record | self.topology.remarks(state, self._record)))
        for round in range(first, num_rounds + 1):
            self._record = {"round": round, "seconds": {}}
            with self._timed("sample"):
                messages = list(self.configure_train(round, arrays, train_config or ConfigRecord(), grid))
            with self._timed("train"):
                checked = self._check(round, self._replies(grid, messages, round, self._enough))
            with self._timed("aggregate"):
                aggregated, metrics = self._aggregate(round, *checked)
            if aggregated is not None:
                arrays = aggregated
            if metrics is not None:
                result.train_metrics_clientapp[round] = metrics
            with self._timed("evaluate"):
                if round % self.eval_every == 0 or round == num_rounds:
                    self._evaluate(round, evaluate_fn, result)
                self._evaluate_clients(round, arrays, evaluate_config or ConfigRecord(), grid, result)
            state.round = round
            with self._timed("checkpoint"):
                if self.save and self.save(state):
                    self._saved_acked = dict(state.acked)
            self._tell("recorded", plain(self._record | self.topology.remarks(state, self._record)))
        result.arrays = to_record(self.served_arrays)
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.members.refresh(grid, self.min_replies)
        self._prepare_clients(grid)
        state, settings = self._state, self._settings(server_round)
        cohort = sample_cohort(self.members.online, self.fraction, self.seed, server_round, self.sampler)
        self._enough = len(cohort)
        spare = spare_clients(self.members.online, cohort, self.over_sample, self.seed, server_round)
        cohort = sorted([*cohort, *spare], key=client_order)
        extra = self.weave.broadcast(state)
        record = to_record(extra) if extra else None
        shared = {**self._client_settings(server_round), **dict(config), "server-round": server_round}
        pack = self.topology.training(state, arrays)
        messages = []
        self._sent = {}
        for client in cohort:
            method = self.weave.client_method() | {
                **self.topology.method(state, client),
                "scalars": self.weave.scalars(state, client, self.members.population, settings),
                "run": state.key,
                "acked_round": state.acked.get(client, 0),
                "saved_round": self._saved_acked.get(client, 0),
            }
            content = RecordDict({**pack(client), CONFIG: ConfigRecord({**shared, METHOD: json.dumps(method)})})
            if record is not None:
                content[EXTRA] = record
            node = self.members.node(client)
            self._sent[node] = client
            messages.append(self._message(content, node, MessageType.TRAIN, server_round))
        sent = sum(record_bytes(r) for m in messages for r in m.content.array_records.values())
        self._record["bytes_down"] = self._record.get("bytes_down", 0) + sent
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        return self._aggregate(server_round, *self._check(server_round, replies))

    def _aggregate(
        self, server_round: int, usable: list[ClientReply], dropped: list[Record]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        self._record |= {
            "dropped": dropped,
            "bytes_up": self._record.get("bytes_up", 0) + sum(reply.bytes for reply in usable),
            "cohort": [r.client for r in usable],
        }
        if len(usable) < self.min_replies:
            log.warning(
                "round %d: %d usable replies, fewer than the %d needed; the model stays as it is",
                server_round,
                len(usable),
                self.min_replies,
            )
            self._record |= {"cohort": [], "weights": []}
            return None, None
        state = self._state
        cohort = self._cohort(server_round, usable)
        weights, metrics = self.weave.step(state, cohort, self._settings(server_round), self.rounds)
        state.buffers = average_buffers([reply.buffers for reply in usable], weights)
        metrics |= self.topology.aggregate(state, usable, weights)
        for reply in usable:
            state.acked[reply.client] = server_round
        loss = float(np.dot(cohort.share, cohort.metrics["train-loss"])) if "train-loss" in cohort.metrics else None
        self._record |= {"weights": weights, "train/loss": loss, **metrics}
        numbers = {key: float(value) for key, value in metrics.items() if isinstance(value, (int, float))}
        if loss is not None:
            numbers["train-loss"] = loss
        return to_record(self._layout_of.unpack(state.omega, state.buffers)), MetricRecord(
            {"num-examples": int(cohort.sizes.sum()), **numbers}
        )

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Clients are asked only where the method gives each a model of its own."""
        if not (self.recipe.personal or self.personal_epochs) or not (
            server_round % self.eval_every == 0 or server_round == self.rounds
        ):
            return []
        pack = self.topology.evaluation(self._state, arrays)
        messages = []
        for client in sorted(self.members.online, key=client_order):
            method = {
                "run": self._state.key,
                "acked_round": self._state.acked.get(client, 0),
                "topology": self.recipe.topology,
                "personal_epochs": self.personal_epochs,
            }
            values = {
                **self._client_settings(server_round),
                **dict(config),
                "server-round": server_round,
                METHOD: json.dumps(method),
            }
            content = RecordDict({**pack(client), CONFIG: ConfigRecord(values)})
            messages.append(self._message(content, self.members.node(client), MessageType.EVALUATE, server_round))
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        scores = {}
        for reply in replies:
            client = self.members.client(reply.metadata.src_node_id)
            if reply.has_error() or METRICS not in reply.content:
                log.warning("round %d: client %s did not evaluate", server_round, client)
                continue
            scores[client] = dict(reply.content[METRICS])  # type: ignore[call-overload]
        if not scores:
            return None
        record = personal_record(scores)
        self._record |= record
        names = ("accuracy", "std", "worst_decile")
        return MetricRecord({f"personal-{name}": float(record[f"personal/{name}"]) for name in names})

    # Inside a round

    @property
    def served(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The model that is evaluated and saved: the global one, unless the method customises it for the server's target."""
        return self.weave.served(self._state)

    @property
    def served_arrays(self) -> dict[str, Any]:
        return self.topology.served(self._state, self.served)

    @property
    def _state(self) -> RunState:
        assert self.state is not None, "start() prepares the state"
        return self.state

    @property
    def _layout_of(self) -> Layout:
        assert self._layout is not None, "start() prepares the layout"
        return self._layout

    def _prepare(self, initial: ArrayRecord) -> ArrayRecord:
        named = from_record(initial)
        self._layout = self.topology.open(named, self.members)
        if self.state is None:
            buffers = {name: named[name] for name in self._layout.buffers}
            self.state = RunState(0, self._layout.pack(named), buffers, self.weave.init(self._layout.dim))
        if self.members.class_totals is not None:
            self.state.weighting[CLASS_TOTALS] = self.members.class_totals
        self.weave.adopt(self.state)
        self.topology.adopt(self.state)
        return to_record(self._layout.unpack(self.state.omega, self.state.buffers))

    def _prepare_clients(self, grid: Grid) -> None:
        """Let the topology learn what it must know of clients that it has not met, such as their clusters."""

        def ask(clients: Sequence[ClientId], method: dict[str, Any]) -> Iterable[tuple[ClientId, Message]]:
            config = {**self._client_settings(1), "server-round": 0, METHOD: json.dumps(method)}
            content = RecordDict({CONFIG: ConfigRecord(config)})
            nodes = [self.members.node(client) for client in clients]
            messages = [self._message(content, node, MessageType.TRAIN, 0) for node in nodes]
            for reply in self._replies(grid, messages, 0):
                yield self.members.client(reply.metadata.src_node_id), reply

        self._record |= self.topology.prepare(self._state, self.members, ask)

    def _message(self, content: RecordDict, node: int, kind: str, round: int) -> Message:
        """A message that nobody is given after its round: a host that comes back must not train an old one."""
        return Message(content, node, kind, ttl=self.round_timeout, group_id=str(round))

    def _settings(self, round: int) -> RoundSettings:
        lr = self.local.lr * self.lr_decay ** (round - 1)
        return RoundSettings(
            round, self.rounds, self.fraction, self.local.epochs, self.local.batch_size, lr, self.local.lr
        )

    def _client_settings(self, round: int) -> dict[str, Any]:
        settings = self._settings(round)
        local = asdict(replace(self.local, lr=settings.lr, initial_lr=settings.initial_lr))
        return {key.replace("_", "-"): value for key, value in local.items()}

    def _replies(self, grid: Grid, messages: list[Message], round: int, enough: int | None = None) -> Iterable[Message]:
        came = exchange(grid, messages, self.round_timeout, self.stop, enough)
        for done, reply in enumerate(came, start=1):
            self._tell("replied", round, done, len(messages))
            yield reply

    def _check(self, round: int, replies: Iterable[Message]) -> tuple[list[ClientReply], list[Record]]:
        """Read replies as they come; only their updates are kept, so that no message outlives its turn."""
        usable: list[ClientReply] = []
        clipped: list[ClientId] = []
        omega, dim = self._state.omega, self._layout_of.dim
        self._rows = {name: Rows(dim) for name in (UPDATES, *self.weave.uploads())}
        missing = dict(self._sent)
        refused: dict[ClientId, str] = {}
        sent = self._layout_of.unpack(self._state.omega, self._state.buffers)
        trained = 0
        for message in replies:
            trained += not message.has_error()
            client = missing.pop(message.metadata.src_node_id, None)
            if client is None:
                log.warning(
                    "round %d: a reply from node %d, which was not asked or has answered",
                    round,
                    message.metadata.src_node_id,
                )
                continue
            try:
                check_round(message, round)
                groups = self.topology.groups(self._state, client)
                reply = read_reply(message, client, self._layout_of, self.weave.uploads(), sent, groups)
            except BadReply as problem:
                refused[client] = str(problem)
                continue
            if self.max_update_norm and limit_update(reply, omega, self.max_update_norm):
                clipped.append(client)
            for name, row in {UPDATES: reply.vector - omega, **reply.extras}.items():
                self._rows[name].add(row)
            reply.place, reply.vector, reply.extras = len(usable), omega[:0], {}
            usable.append(reply)
        slow = "enough others were faster" if trained >= self._enough else f"no reply within {self.round_timeout:g} s"
        refused |= dict.fromkeys(missing.values(), slow)
        if self.max_update_norm:
            self._record["clipped"] = sorted(clipped, key=client_order)
        for client, reason in refused.items():
            log.warning("round %d: client %s is left out: %s", round, client, reason)
            self._tell("dropped", round, client, reason)
        usable.sort(key=lambda reply: client_order(reply.client))
        return usable, [{"id": client, "reason": refused[client]} for client in sorted(refused, key=client_order)]

    def _cohort(self, round: int, usable: list[ClientReply]) -> Cohort:
        order = [reply.place for reply in usable]
        rows = {name: rows.arranged(order) for name, rows in self._rows.items()}
        self._rows = {}
        common = set.intersection(*(set(reply.metrics) for reply in usable))
        return Cohort(
            round=round,
            ids=[reply.client for reply in usable],
            sizes=np.array([reply.size for reply in usable], dtype=np.float64),
            updates=rows.pop(UPDATES),
            population=self.members.population,
            extras=rows,
            metrics={name: np.array([reply.metrics[name] for reply in usable]) for name in sorted(common)},
            answers=self.members.answers,
        )

    def _evaluate(self, round: int, evaluate_fn: Evaluate | None, result: Result) -> None:
        if evaluate_fn is None:
            return
        state = self._state
        for prefix, arrays in self.topology.evaluated(state, self.weave.models_to_evaluate(state)).items():
            metrics = evaluate_fn(round, to_record(arrays))
            if metrics is None:
                continue
            self._record |= {f"{prefix}/{key}": value for key, value in metrics.items()}
            if prefix == "global":
                result.evaluate_metrics_serverapp[round] = metrics

    def _evaluate_clients(
        self, round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid, result: Result
    ) -> None:
        messages = list(self.configure_evaluate(round, arrays, config, grid))
        if messages:
            metrics = self.aggregate_evaluate(round, exchange(grid, messages, self.round_timeout, self.stop))
            if metrics is not None:
                result.evaluate_metrics_clientapp[round] = metrics

    def _tell(self, event: str, *details: Any) -> None:
        for observer in self.observers:
            getattr(observer, event)(*details)

    def _timed(self, phase: str) -> _Phase:
        return _Phase(self._record["seconds"], phase)


class _Phase:
    """Adds the time spent inside to the round's record."""

    def __init__(self, seconds: dict[str, float], phase: str) -> None:
        self.seconds, self.phase = seconds, phase

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + time.perf_counter() - self.start
