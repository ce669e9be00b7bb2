"""What goes out in a round: the messages to the clients, made of the state of the run, the recipe and its topology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flwr.app import ArrayRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fl_protocol.arrays import to_record
from fl_protocol.codec import overridden, pack, tell_unread
from fl_protocol.messages import Evaluate, Probe, Setup, Train
from fl_protocol.settings import LocalSettings
from fl_protocol.types import ClientId, client_order
from fl_strategies.recipes import Recipe
from fl_strategies.round.membership import Membership
from fl_strategies.round.options import Participation, Schedule
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.receiving import Round
from fl_strategies.round.secure.masked_rounds import SecureRounds
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import Weave
from fl_strategies.sampling import sample_cohort, spare_clients
from fl_strategies.server_update.base import RoundSettings
from fl_strategies.topologies.base import Topology

Config = Mapping[str, Any]  # of Flower's train_config or evaluate_config, which overrides the clients' settings


@dataclass
class Orders:
    recipe: Recipe
    weave: Weave
    topology: Topology
    members: Membership
    setup: Setup
    participation: Participation
    schedule: Schedule
    local: LocalSettings
    rounds: int  # planned; 0 is not known
    secure: SecureRounds | None = None  # where the server sees the sum of the updates only

    def settings(self, round: int) -> RoundSettings:
        """The numbers of one round that server steps may need."""
        local, lr = self.local, self.local.lr * self.schedule.lr_decay ** (round - 1)
        fraction = self.participation.fraction_train
        return RoundSettings(round, self.rounds, fraction, local.epochs, local.batch_size, lr, local.lr)

    def scores_in(self, round: int) -> bool:
        return round % self.schedule.eval_every == 0 or round == self.rounds

    def training(
        self,
        round: int,
        arrays: ArrayRecord,
        config: Config,
        state: RunState,
        saved: Mapping[ClientId, int],
        grid: Grid | None = None,
    ) -> tuple[Round, list[Message]]:
        """One message for every client of the cohort (and its spares). `saved` is what the last checkpoint has acknowledged."""
        tell_unread(config, "The train_config")
        who, seed, online = self.participation, self.schedule.seed, self.members.online
        protection = self.weave.protection
        chosen = sample_cohort(online, who.fraction_train, protection.cohort_seed(seed), round, who.sampler)
        spare = spare_clients(online, chosen, who.over_sample, seed, round)
        going, own = Round(round, enough=len(chosen)), state.of(self.topology.name)
        asked: Sequence[ClientId] = sorted([*chosen, *spare], key=client_order)
        if self.secure is not None:
            assert grid is not None, "clients cannot agree on masks without one"
            going, asked = self.secure.begin(grid, going, asked, state, who)
        model_of = self.topology.training(own, arrays, state.acked)
        common = Train(
            arrays=arrays,
            settings=overridden(self._local(round), config, first_rate=False),
            round=round,
            setup=self.setup,
            objectives=[self.weave.named(name) for name in self.recipe.objectives],
            optimizer=self.weave.named(self.recipe.optimizer),
            extra=to_record(self.weave.broadcast(state)),
            report=self.weave.report,
            noise=protection.noise_share(state.of(KEY)) if self.secure is not None else None,
        )
        settings, messages = self.settings(round), []
        for client in asked:
            model, groups = model_of(client)
            order = replace(
                common,
                arrays=model,
                groups=groups,
                topology=self.topology.says(own, client),
                scalars=self.weave.scalars(state, client, self.members.population, settings),
                acked_round=state.acked.get(client, 0),
                saved_round=saved.get(client, 0),
                masks=going.masks(client),
            )
            going.sent[self.members.node(client)] = client
            messages.append(self._message(pack(order, config), client, MessageType.TRAIN, round))
        if remembered := protection.asked(round, going.sent.values(), state.of(KEY)):
            state.parts[KEY] = remembered
        return going, messages

    def evaluation(self, round: int, arrays: ArrayRecord, config: Config, state: RunState) -> list[Message]:
        """One message for every client that is there."""
        tell_unread(config, "The evaluate_config")
        order_for = self.scoring(round, arrays, config, state)
        return [
            self._message(pack(order_for(client), config), client, MessageType.EVALUATE, round)
            for client in sorted(self.members.online, key=client_order)
        ]

    def scoring(
        self, round: int, arrays: ArrayRecord, config: Config, state: RunState
    ) -> Callable[[ClientId], Evaluate]:
        """What a client is told, by its id."""
        own = state.of(self.topology.name)
        settings = overridden(self._local(round), config, first_rate=False)
        model_of = self.topology.evaluation(own, arrays, state.acked)

        def order(client: ClientId) -> Evaluate:
            model, _ = model_of(client)
            says, acked = self.topology.says(own, client), state.acked.get(client, 0)
            when = self.schedule
            return Evaluate(model, settings, round, self.setup, says, acked, when.personal_epochs, list(when.metrics))

        return order

    def probes(self, clients: Sequence[ClientId]) -> list[Message]:
        content = pack(Probe(self._local(1), self.setup))
        return [self._message(content, client, MessageType.TRAIN, 0) for client in clients]

    def _local(self, round: int) -> LocalSettings:
        settings = self.settings(round)
        return replace(self.local, lr=settings.lr, initial_lr=settings.initial_lr)

    def _message(self, content: RecordDict, client: ClientId, kind: str, round: int) -> Message:
        """A message that nobody is given after its round: a host that comes back must not train an old one."""
        node, ttl = self.members.node(client), self.participation.round_timeout
        return Message(content, node, kind, ttl=ttl, group_id=str(round))
