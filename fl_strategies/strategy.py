"""The one strategy class: a recipe woven into Flower's message-based `Strategy`.

One round: sample the cohort, send, let clients train, check each reply, weigh, update, evaluate, record. What differs between methods
is in the parts (`weighting/`, `server_update/`, `topologies/`, `clients/objectives/`); nothing here names one. Rounds go through Flower's
own four methods, so that a subclass or one of Flower's wrappers that overrides one is heard.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fl_config.errors import ConfigError
from fl_protocol.arrays import content_bytes, to_record
from fl_protocol.layout import Layout
from fl_protocol.messages import Setup
from fl_protocol.replies import BadReply, Probed, Scored
from fl_protocol.settings import LocalSettings
from fl_protocol.types import Arrays, ClientId, client_order
from fl_strategies.population.cohort_sums import CohortSums
from fl_strategies.population.means import Means
from fl_strategies.population.personal_scores import personal_record
from fl_strategies.population.tally import Tally
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse
from fl_strategies.round.exchange import exchange
from fl_strategies.round.global_model import GlobalModel
from fl_strategies.round.membership import Membership
from fl_strategies.round.options import Hooks, Participation, Schedule, sections_of
from fl_strategies.round.orders import Orders
from fl_strategies.round.receiving import Round
from fl_strategies.round.records import Journal, plain
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.secure.masked_rounds import secure_rounds
from fl_strategies.round.state import RunState, new_key
from fl_strategies.round.weave import Weave

log = logging.getLogger("fedloom")
Scores = Callable[[int, ArrayRecord], MetricRecord | None]


class ComposedStrategy(Strategy):
    """Any method of the project: `ComposedStrategy("feddyn+disco", parts={"disco.a": 0.4})`, in anyone's ServerApp.

    parts           parameters of the recipe's parts by dotted key
    local           how clients train (learning rate and so on)
    resources       the server's own model and unlabelled target data, for methods that learn on it
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
        resources: ServerResources | None = None,
        **sections: Any,
    ) -> None:
        self.recipe = parse(strategy) if isinstance(strategy, str) else strategy
        self.parameters = parameters(self.recipe, parts or {})
        made = sections_of(sections)
        self.participation: Participation = made["participation"]
        self.schedule: Schedule = made["schedule"]
        self.hooks: Hooks = made["hooks"]
        who, when, state = self.participation, self.schedule, self.hooks.state
        self.topology = self.recipe.topology(self.parameters)
        self.weave = Weave(self.recipe, self.parameters, resources, self.hooks.protection)
        self.model = GlobalModel(self.weave, self.topology, state, Means(when.score, self.hooks.last_models))
        setup = Setup(state.key if state else new_key(), self.recipe.projection, when.held_out)
        patience = who.wait, who.round_timeout, self.hooks.stop
        self.journal = Journal(self.hooks.observers)
        self.members = Membership(
            self.weave.questions(), setup, who.min_clients, *patience, who.expects, who.census, self.journal
        )
        self.members.totals = self.model.kept_sums()
        self.local = local or LocalSettings(seed=when.seed)
        masked = secure_rounds(self.recipe, self.weave, self.members, who, when, self.hooks.stop)
        self.orders = Orders(
            self.recipe, self.weave, self.topology, self.members, setup, who, when, self.local, when.num_rounds, masked
        )
        self.sums = CohortSums(self.orders, self.journal, self.hooks.stop)
        self._saved_acked = state.acked.copy() if state else Tally()
        self._round = Round(0)

    @property
    def state(self) -> RunState | None:
        return self.model.begun

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
        patience = replace(self.participation, round_timeout=min(self.participation.round_timeout, timeout))
        self.participation = self.orders.participation = patience
        self.orders.rounds = num_rounds
        result = Result()
        arrays = self._prepare(grid, initial_arrays)
        state = self.model.state
        first = state.round + 1
        counts = {"clients": self.members.population.count, "rounds": num_rounds, "first_round": first}
        self.journal.tell("started", {"strategy": self.recipe.name, **counts, **self.hooks.protection.says(state)})
        if first == 1:
            self.journal.begin(0)
            self._prepare_clients(grid)
            self._evaluate(0, evaluate_fn, result)
            self._finish_record()
        for round in self.hooks.protection.rounds(first, num_rounds, state):
            self.journal.begin(round)
            with self.journal.timed("sample"):
                messages = list(self.configure_train(round, arrays, train_config or ConfigRecord(), grid))
                self._round.only({message.metadata.dst_node_id for message in messages})
            aggregated, metrics = self.aggregate_train(round, self._replies(grid, messages, round, self._round.enough))
            arrays = arrays if aggregated is None else aggregated
            self.model.adopt(arrays)
            if metrics is not None:
                result.train_metrics_clientapp[round] = metrics
            with self.journal.timed("evaluate"):
                if self.orders.scores_in(round):
                    self._evaluate(round, evaluate_fn, result)
                self._evaluate_clients(round, arrays, evaluate_config or ConfigRecord(), grid, result)
            state.round = round
            with self.journal.timed("checkpoint"):
                if self.hooks.save and self.hooks.save(state, round == num_rounds):
                    self._saved_acked = state.acked.copy()
            if self._finish_record():
                break
        if state.round < num_rounds:
            log.info("the run ends early, after round %d", state.round)
            if self.hooks.save:
                self.hooks.save(state, True)
        result.arrays = to_record(self.served_arrays)
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        if not self.model.opened:
            self._prepare(grid, arrays)
        self.model.adopt(arrays)
        self.members.refresh(grid, self.participation.min_replies)
        self._prepare_clients(grid)
        self._round, messages = self.orders.training(
            server_round, arrays, dict(config), self.model.state, self._saved_acked, grid
        )
        self.journal.count("bytes_down", self._round.bytes_down + content_bytes(each.content for each in messages))
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        came = self._round
        with self.journal.timed("train"):
            self._receive(replies)
        with self.journal.timed("aggregate"):
            self.journal.note(came.record)
            self.journal.count("bytes_up", sum(reply.bytes for reply in came.usable))
            if len(came.usable) < self.participation.min_replies:
                few = "round %d: %d usable replies, fewer than the %d needed; the model stays as it is"
                log.warning(few, server_round, len(came.usable), self.participation.min_replies)
                self.journal.note({"cohort": [], "weights": []})
                return None, None
            return self._update(server_round)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Clients are asked where the method gives each a model of its own, or where they hold data out to be scored on."""
        scored = self.recipe.personal or self.schedule.personal_epochs or self.schedule.held_out
        if not scored or not self.orders.scores_in(server_round):
            return []
        return self.orders.evaluation(server_round, arrays, dict(config), self.model.state)

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
        record = personal_record(scores, self.schedule.headline, self.schedule.better)
        self.journal.note(record)
        shown = {name: record[f"personal/{name}"] for name in (self.schedule.headline, "std", "worst_decile")}
        return MetricRecord({f"personal-{name}": float(value) for name, value in shown.items()})

    @property
    def served_arrays(self) -> Arrays:
        """The model that is saved."""
        return self.model.served()

    # Inside a round

    def _prepare(self, grid: Grid, initial: ArrayRecord) -> ArrayRecord:
        """Meet the clients, and begin; Flower's wrappers come here with the first round."""
        if not self.orders.rounds and (needs := self.weave.needs_horizon):
            raise ConfigError(
                f"{needs!r} must know how many rounds there will be, which a wrapper does not say: give the strategy num_rounds."
            )
        self.members.register(grid)
        self.sums.open(grid)
        return self.model.open(initial, self.members)

    def _prepare_clients(self, grid: Grid) -> None:
        """Let the topology learn what it must know of clients that it has not met, such as their clusters."""

        def ask(clients: Sequence[ClientId], head: Layout) -> Iterable[tuple[ClientId, Probed | BadReply]]:
            for reply in self._replies(grid, self.orders.probes(clients), 0):
                client = self.members.client(reply.metadata.src_node_id)
                try:
                    yield client, Probed.read(reply, head)
                except BadReply as problem:
                    yield client, problem

        state, record = self.topology.prepare(self.model.topology_state, self.members, ask)
        self.model.remember(state)
        self.journal.note(record)

    def _replies(self, grid: Grid, messages: list[Message], round: int, enough: int | None = None) -> Iterable[Message]:
        came = exchange(grid, messages, self.participation.round_timeout, self.hooks.stop, enough)
        for done, reply in enumerate(came, start=1):
            self.journal.tell("replied", round, done, len(messages))
            yield reply

    def _receive(self, replies: Iterable[Message]) -> None:
        came, who, own = self._round, self.participation, self.model.topology_state
        groups = {client: self.topology.groups(own, client) for client in came.sent.values()}
        came.receive(replies, self.model, self.weave.uploads(), groups, who.max_update_norm, who.round_timeout)
        if who.max_update_norm:
            self.journal.note({"clipped": sorted(came.clipped, key=client_order)})
        for client, reason in came.refused.items():
            log.warning("round %d: client %s is left out: %s", came.number, client, reason)
            self.journal.tell("dropped", came.number, client, reason)

    def _update(self, round: int) -> tuple[ArrayRecord, MetricRecord]:
        """Let the parts make the next global model of the round's replies."""
        state, usable = self.model.state, self._round.usable
        cohort = self._round.cohort(self.members, state.omega)
        cohort.sums = self.sums.over(cohort, self.model)
        weights, metrics = self.weave.step(state, cohort, self.orders.settings(round), self.orders.rounds)
        state.buffers = self.hooks.protection.buffers(state.buffers, self._round.mean_buffers, weights)
        own, record = self.topology.aggregate(self.model.topology_state, usable, weights)
        self.model.remember(own)
        metrics |= record
        self.model.means.update(state, cohort, [reply.buffers for reply in usable], self._saved_acked)
        state.acked.update(dict.fromkeys(cohort.ids, round))
        self.journal.note({"weights": weights, "train/loss": cohort.loss, **metrics})
        told = metrics if cohort.loss is None else {**metrics, "train-loss": cohort.loss}
        numbers = {key: float(value) for key, value in told.items() if isinstance(value, (int, float))}
        return self.model.hand_out(), MetricRecord({"num-examples": int(cohort.sizes.sum()), **numbers})

    def _evaluate(self, round: int, evaluate_fn: Scores | None, result: Result) -> None:
        if evaluate_fn is None:
            return
        for prefix, arrays in self.model.evaluated().items():
            metrics = evaluate_fn(round, to_record(arrays))
            if metrics is None:
                continue
            self.journal.note({f"{prefix}/{key}": value for key, value in metrics.items()})
            if prefix == "global":
                result.evaluate_metrics_serverapp[round] = metrics

    def _evaluate_clients(
        self, round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid, result: Result
    ) -> None:
        messages = list(self.configure_evaluate(round, arrays, config, grid))
        if messages:
            came = exchange(grid, messages, self.participation.round_timeout, self.hooks.stop)
            if (metrics := self.aggregate_evaluate(round, came)) is not None:
                result.evaluate_metrics_clientapp[round] = metrics

    def _finish_record(self) -> bool:
        """Tell the observers; says whether one of them wants the run to end here."""
        record = self.journal.record | self.hooks.protection.figures(self.model.state)
        return self.journal.tell("recorded", plain(record | self.topology.remarks(self.model.topology_state, record)))
