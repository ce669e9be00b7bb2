"""The one strategy class: a recipe woven into Flower's message-based `Strategy`.

One round: sample the cohort, send, let clients train, check each reply, weigh, update, evaluate, record. What differs between methods
is in the parts (`weighting/`, `server_update/`, `topologies/`, `clients/objectives/`); nothing here names one. Rounds go through Flower's
own four methods, so that a subclass or one of Flower's wrappers that overrides one is heard.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fl_config.errors import ConfigError, nearest
from fl_protocol.arrays import from_record, record_bytes, to_record
from fl_protocol.codec import overridden, pack, tell_unread
from fl_protocol.layout import Layout
from fl_protocol.messages import Evaluate, Probe, Setup, Train
from fl_protocol.replies import BadReply, Probed, Scored
from fl_protocol.settings import LocalSettings
from fl_protocol.types import Arrays, ClientId, client_order
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse
from fl_strategies.round.buffers import average_buffers
from fl_strategies.round.exchange import exchange
from fl_strategies.round.membership import Membership
from fl_strategies.round.options import Hooks, Participation, Schedule
from fl_strategies.round.personal_scores import personal_record
from fl_strategies.round.receiving import Round
from fl_strategies.round.records import Record, Timed, plain
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.state import RunState, new_key
from fl_strategies.round.weave import Weave
from fl_strategies.sampling import sample_cohort, spare_clients
from fl_strategies.server_update.base import RoundSettings

log = logging.getLogger("fedloom")
SUM = "sum:"  # of a secure sum's name, among what the weighting remembers: a resumed run asks as before
SECTIONS: dict[str, type[Any]] = {"participation": Participation, "schedule": Schedule, "hooks": Hooks}
KEYWORDS: dict[str, Any] = {
    **{"parts": None, "local": None, "server": None},
    **dict.fromkeys(SECTIONS),
    **{one.name: one.default for section in SECTIONS.values() for one in fields(section)},
}
Scores = Callable[[int, ArrayRecord], MetricRecord | None]


class ComposedStrategy(Strategy):
    """Any method of the project: `ComposedStrategy("feddyn+disco", parts={"disco.a": 0.4})`, in anyone's ServerApp.

    parts           parameters of the recipe's parts by dotted key
    local           how clients train (learning rate and so on)
    server          the server's own model and unlabelled target data, for methods that learn on it
    participation   who takes part in a round and how long the server waits (`Participation`)
    schedule        seed, decay, evaluations (`Schedule`)
    hooks           observers, checkpoints, a state to go on from (`Hooks`)
    Every field of the last three may also be given by its own name: `ComposedStrategy("fedavg", fraction_train=0.1)`.
    """

    def __init__(
        self,
        strategy: str | Recipe = "fedavg",
        *,
        parts: Mapping[str, Any] | None = None,
        local: LocalSettings | None = None,
        server: ServerResources | None = None,
        **sections: Any,
    ) -> None:
        self.recipe = parse(strategy) if isinstance(strategy, str) else strategy
        self.parameters = parameters(self.recipe, parts or {})
        made = _sections(sections)
        self.participation: Participation = made["participation"]
        self.schedule: Schedule = made["schedule"]
        self.hooks: Hooks = made["hooks"]
        self.local = local or LocalSettings(seed=self.schedule.seed)
        self.topology = self.recipe.topology(self.parameters)
        self.weave = Weave(self.recipe, self.parameters, server)
        self.state: RunState | None = self.hooks.state
        self.rounds = self.schedule.num_rounds
        self.setup = Setup(
            run=self.state.key if self.state else new_key(),
            projection=self.recipe.projection,
            held_out=self.schedule.held_out,
        )
        who = self.participation
        self.members = Membership(
            self.weave.questions(),
            self.setup,
            who.min_clients,
            who.wait,
            who.round_timeout,
            self.hooks.stop,
            who.expects,
        )
        if self.state:
            kept = self.state.of(self.recipe.weighting)
            self.members.totals = {key.removeprefix(SUM): kept[key] for key in kept if key.startswith(SUM)}
        self._layout: Layout | None = None
        self._saved_acked: dict[ClientId, int] = dict(self.state.acked) if self.state else {}
        self._record: Record = {}
        self._round = Round(0)
        self._given: ArrayRecord | None = None  # the global model as it was last handed out

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
        evaluate_fn: Scores | None = None,
    ) -> Result:
        """Run rounds 1..num_rounds, or go on after the round of the given state."""
        self.rounds = num_rounds
        self.participation = replace(self.participation, round_timeout=min(self.participation.round_timeout, timeout))
        result = Result()
        arrays = self._prepare(grid, initial_arrays)
        state = self._state
        first = state.round + 1
        counts = {"clients": self.members.population.count, "rounds": num_rounds, "first_round": first}
        self._tell("started", {"strategy": self.recipe.name, **counts})
        if first == 1:
            self._record = {"round": 0}
            self._prepare_clients(grid)
            self._evaluate(0, evaluate_fn, result)
            self._finish_record()
        for round in range(first, num_rounds + 1):
            self._record = {"round": round, "seconds": {}}
            with self._timed("sample"):
                messages = list(self.configure_train(round, arrays, train_config or ConfigRecord(), grid))
            aggregated, metrics = self.aggregate_train(round, self._replies(grid, messages, round, self._round.enough))
            if aggregated is not None:
                arrays = aggregated
                self._adopt(arrays)
            if metrics is not None:
                result.train_metrics_clientapp[round] = metrics
            with self._timed("evaluate"):
                if self._scores_in(round):
                    self._evaluate(round, evaluate_fn, result)
                self._evaluate_clients(round, arrays, evaluate_config or ConfigRecord(), grid, result)
            state.round = round
            with self._timed("checkpoint"):
                if self.hooks.save and self.hooks.save(state):
                    self._saved_acked = dict(state.acked)
            self._finish_record()
        result.arrays = to_record(self.served_arrays)
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        if self._layout is None:
            self._prepare(grid, arrays)
        self._adopt(arrays)
        tell_unread(dict(config), "The train_config")
        who, state = self.participation, self._state
        self.members.refresh(grid, who.min_replies)
        self._prepare_clients(grid)
        chosen = sample_cohort(self.members.online, who.fraction_train, self.schedule.seed, server_round, who.sampler)
        spare = spare_clients(self.members.online, chosen, who.over_sample, self.schedule.seed, server_round)
        self._round = Round(server_round, enough=len(chosen))
        settings, weave, own = self._settings(server_round), self.weave, state.of(self.topology.name)
        model_of = self.topology.training(own, arrays, state.acked)
        extra = weave.broadcast(state)
        common = Train(
            arrays=arrays,
            settings=overridden(self._local(server_round), dict(config)),
            round=server_round,
            setup=self.setup,
            objectives=[weave.named(name) for name in self.recipe.objectives],
            optimizer=weave.named(self.recipe.optimizer),
            extra=to_record(extra),
            report=weave.report,
        )
        messages = []
        for client in sorted([*chosen, *spare], key=client_order):
            model, groups = model_of(client)
            order = replace(
                common,
                arrays=model,
                groups=groups,
                topology=self.topology.says(own, client),
                scalars=weave.scalars(state, client, self.members.population, settings),
                acked_round=state.acked.get(client, 0),
                saved_round=self._saved_acked.get(client, 0),
            )
            self._round.sent[self.members.node(client)] = client
            messages.append(self._message(pack(order), client, MessageType.TRAIN, server_round))
        sent = sum(record_bytes(r) for m in messages for r in m.content.array_records.values())
        self._record["bytes_down"] = self._record.get("bytes_down", 0) + sent
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        came = self._round
        with self._timed("train"):
            self._receive(replies)
        with self._timed("aggregate"):
            self._record |= {
                "dropped": came.dropped,
                "bytes_up": self._record.get("bytes_up", 0) + sum(reply.bytes for reply in came.usable),
                "cohort": [reply.client for reply in came.usable],
            }
            if len(came.usable) < self.participation.min_replies:
                few = "round %d: %d usable replies, fewer than the %d needed; the model stays as it is"
                log.warning(few, server_round, len(came.usable), self.participation.min_replies)
                self._record |= {"cohort": [], "weights": []}
                return None, None
            return self._update(server_round)

    def _update(self, round: int) -> tuple[ArrayRecord, MetricRecord]:
        """Let the parts make the next global model of the round's replies."""
        state, usable = self._state, self._round.usable
        cohort = self._round.cohort(self.members, state.omega)
        weights, metrics = self.weave.step(state, cohort, self._settings(round), self.rounds)
        state.buffers = average_buffers([reply.buffers for reply in usable], weights)
        metrics |= self._remember(*self.topology.aggregate(state.of(self.topology.name), usable, weights))
        for reply in usable:
            state.acked[reply.client] = round
        loss = float(np.dot(cohort.share, cohort.metrics["train-loss"])) if "train-loss" in cohort.metrics else None
        self._record |= {"weights": weights, "train/loss": loss, **metrics}
        numbers = {key: float(value) for key, value in metrics.items() if isinstance(value, (int, float))}
        if loss is not None:
            numbers["train-loss"] = loss
        self._given = to_record(self._model())
        return self._given, MetricRecord({"num-examples": int(cohort.sizes.sum()), **numbers})

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Clients are asked only where the method gives each a model of its own."""
        if not (self.recipe.personal or self.schedule.personal_epochs) or not self._scores_in(server_round):
            return []
        tell_unread(dict(config), "The evaluate_config")
        state, own = self._state, self._state.of(self.topology.name)
        model_of = self.topology.evaluation(own, arrays, state.acked)
        settings = overridden(self._local(server_round), dict(config))
        messages = []
        for client in sorted(self.members.online, key=client_order):
            model, _ = model_of(client)
            says, acked = self.topology.says(own, client), state.acked.get(client, 0)
            order = Evaluate(model, settings, server_round, self.setup, says, acked, self.schedule.personal_epochs)
            messages.append(self._message(pack(order), client, MessageType.EVALUATE, server_round))
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        scores = {}
        for reply in replies:
            client = self.members.client(reply.metadata.src_node_id)
            try:
                scores[client] = Scored.read(reply).metrics
            except BadReply as problem:
                log.warning("round %d: client %s did not evaluate: %s", server_round, client, problem)
        if not scores:
            return None
        record = personal_record(scores)
        self._record |= record
        names = ("accuracy", "std", "worst_decile")
        return MetricRecord({f"personal-{name}": float(record[f"personal/{name}"]) for name in names})

    # Models

    @property
    def served_arrays(self) -> Arrays:
        """The model that is saved: the global one, unless the method customises it for the server's target."""
        state = self._state
        model = self._unpacked.unpack(self.weave.served(state), state.buffers)
        return self.topology.served(state.of(self.topology.name), model)

    @property
    def _state(self) -> RunState:
        assert self.state is not None, "the first round prepares the state"
        return self.state

    @property
    def _unpacked(self) -> Layout:
        assert self._layout is not None, "the first round prepares the layout"
        return self._layout

    def _model(self) -> Arrays:
        return self._unpacked.unpack(self._state.omega, self._state.buffers)

    def _prepare(self, grid: Grid, initial: ArrayRecord) -> ArrayRecord:
        """Meet the clients and begin with the initial model, or with that of the state to go on from."""
        if not self.rounds and (needs := self.weave.needs_horizon):
            raise ConfigError(
                f"{needs!r} must know how many rounds there will be, which a wrapper does not say: give the strategy num_rounds."
            )
        self.members.register(grid)
        named = from_record(initial)
        self._layout = layout = self.topology.open(named, self.members)
        if self.state is None:
            buffers = {name: named[name] for name in layout.buffers}
            parts = self.weave.init(layout.dim)
            self.state = RunState(0, layout.pack(named), buffers, parts, key=self.setup.run)
        if self.topology.name not in self.state.parts and (begun := self.topology.init(self._model())):
            self.state.parts[self.topology.name] = begun
        if self.members.totals:
            sums = {f"{SUM}{name}": total for name, total in self.members.totals.items()}
            self.state.parts[self.recipe.weighting] = {**self.state.of(self.recipe.weighting), **sums}
        self._given = to_record(self._model())
        return self._given

    def _adopt(self, arrays: ArrayRecord) -> None:
        """Go on from these arrays, where a wrapper or a subclass changed those that were handed out."""
        if arrays is not self._given:
            named, state = from_record(arrays), self._state
            state.omega = self._unpacked.pack(named)
            state.buffers = {name: named[name] for name in self._unpacked.buffers}
            self._given = arrays

    # Inside a round

    def _prepare_clients(self, grid: Grid) -> None:
        """Let the topology learn what it must know of clients that it has not met, such as their clusters."""

        def ask(clients: Sequence[ClientId], head: Layout) -> Iterable[tuple[ClientId, Probed | BadReply]]:
            content = pack(Probe(self._local(1), self.setup))
            messages = [self._message(content, client, MessageType.TRAIN, 0) for client in clients]
            for reply in self._replies(grid, messages, 0):
                client = self.members.client(reply.metadata.src_node_id)
                try:
                    yield client, Probed.read(reply, head)
                except BadReply as problem:
                    yield client, problem

        own = self._state.of(self.topology.name)
        self._record |= self._remember(*self.topology.prepare(own, self.members, ask))

    def _remember(self, state: dict[str, Any], record: Record) -> Record:
        if state:
            self._state.parts[self.topology.name] = state
        return record

    def _message(self, content: RecordDict, client: ClientId, kind: str, round: int) -> Message:
        """A message that nobody is given after its round: a host that comes back must not train an old one."""
        ttl = self.participation.round_timeout
        return Message(content, self.members.node(client), kind, ttl=ttl, group_id=str(round))

    def _settings(self, round: int) -> RoundSettings:
        local, lr = self.local, self.local.lr * self.schedule.lr_decay ** (round - 1)
        fraction = self.participation.fraction_train
        return RoundSettings(round, self.rounds, fraction, local.epochs, local.batch_size, lr, local.lr)

    def _local(self, round: int) -> LocalSettings:
        settings = self._settings(round)
        return replace(self.local, lr=settings.lr, initial_lr=settings.initial_lr)

    def _scores_in(self, round: int) -> bool:
        return round % self.schedule.eval_every == 0 or round == self.rounds

    def _replies(self, grid: Grid, messages: list[Message], round: int, enough: int | None = None) -> Iterable[Message]:
        came = exchange(grid, messages, self.participation.round_timeout, self.hooks.stop, enough)
        for done, reply in enumerate(came, start=1):
            self._tell("replied", round, done, len(messages))
            yield reply

    def _receive(self, replies: Iterable[Message]) -> None:
        came, state, who = self._round, self._state, self.participation
        own = state.of(self.topology.name)
        groups = {client: self.topology.groups(own, client) for client in came.sent.values()}
        came.receive(
            replies,
            self._unpacked,
            state.omega,
            self._model(),
            self.weave.uploads(),
            groups,
            who.max_update_norm,
            who.round_timeout,
        )
        if who.max_update_norm:
            self._record["clipped"] = sorted(came.clipped, key=client_order)
        for client, reason in came.refused.items():
            log.warning("round %d: client %s is left out: %s", came.number, client, reason)
            self._tell("dropped", came.number, client, reason)

    def _evaluate(self, round: int, evaluate_fn: Scores | None, result: Result) -> None:
        if evaluate_fn is None:
            return
        state = self._state
        vectors = self.weave.models_to_evaluate(state)
        models = {prefix: self._unpacked.unpack(vector, state.buffers) for prefix, vector in vectors.items()}
        for prefix, arrays in self.topology.evaluated(state.of(self.topology.name), models).items():
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
            came = exchange(grid, messages, self.participation.round_timeout, self.hooks.stop)
            metrics = self.aggregate_evaluate(round, came)
            if metrics is not None:
                result.evaluate_metrics_clientapp[round] = metrics

    def _finish_record(self) -> None:
        own = self._state.of(self.topology.name)
        self._tell("recorded", plain(self._record | self.topology.remarks(own, self._record)))

    def _tell(self, event: str, *details: Any) -> None:
        for observer in self.hooks.observers:
            getattr(observer, event)(*details)

    def _timed(self, phase: str) -> Timed:
        return Timed(self._record.setdefault("seconds", {}), phase)


def _sections(given: dict[str, Any]) -> dict[str, Any]:
    """The sections, each as given or made of the fields that were given by name."""
    left, made = dict(given), {}
    for name, kind in SECTIONS.items():
        section = left.pop(name, None) or kind()
        own = {one.name: left.pop(one.name) for one in fields(kind) if one.name in left}
        made[name] = replace(section, **own) if own else section
    if left:
        odd = next(iter(left))
        raise ConfigError(f"A strategy has no argument {odd!r}{nearest(odd, KEYWORDS)}")
    return made
