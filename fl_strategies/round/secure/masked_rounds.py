"""Rounds in which the server learns the weighted sum of the updates and nothing else of them (docs/privacy.md).

    ask     who is there shows keys, then shares its secrets                  agreement.py
    train   each client's reply is one vector under masks, added up as it comes
    unmask  survivors reveal what takes the masks off the sum                 unmasking.py

Below the threshold, at any of these, the round comes to nothing: the model stays as it is, and the log and the record say why.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid
from numpy.typing import NDArray

from fl_protocol.contributions import LOSS, Contributions
from fl_protocol.fixed_point import FINE, from_fixed
from fl_protocol.layout import Layout
from fl_protocol.masks import WORD, Words
from fl_protocol.messages import Masks
from fl_protocol.replies import BadReply, ClientReply, check_round
from fl_protocol.secure_replies import Masked
from fl_protocol.types import Arrays, ClientId, Vector, client_order
from fl_strategies.recipes import Recipe
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.global_model import GlobalModel
from fl_strategies.round.membership import Membership
from fl_strategies.round.options import Participation, Schedule
from fl_strategies.round.receiving import Round
from fl_strategies.round.rows import Summed
from fl_strategies.round.secure.agreement import Agreement, Line, NoSum, agree, needed
from fl_strategies.round.secure.allowed import check_summable
from fl_strategies.round.secure.unmasking import unmask
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import Weave

log = logging.getLogger("fedloom")


def secure_rounds(
    recipe: Recipe, weave: Weave, members: Membership, who: Participation, when: Schedule, stop: threading.Event
) -> SecureRounds | None:
    """None where updates come as they are; a sentence where the recipe needs more than their sum."""
    if not who.secure_aggregation:
        return None
    check_summable(recipe, when.score, who.max_update_norm)
    return SecureRounds(weave, members, stop)


@dataclass
class SecureRounds:
    weave: Weave
    members: Membership
    stop: threading.Event

    def begin(
        self, grid: Grid, going: Round, asked: Sequence[ClientId], state: RunState, who: Participation
    ) -> tuple[Round, Sequence[ClientId]]:
        """Have the clients agree on masks; returns the round, and who goes on to train."""
        line = Line(grid, self.members, going.number, who.round_timeout, self.stop)
        threshold, began = needed(len(asked), who.secure_threshold), time.monotonic()
        masked = MaskedRound(going.number, enough=going.enough, line=line, numbers=self.weave.summed())
        masked.noted = {"secure/threshold": threshold}

        def weigh(clients: Sequence[ClientId]) -> tuple[list[float], list[float]]:
            sizes = np.array([self.members.sizes[client] for client in clients], dtype=np.float64)
            empty = np.zeros((len(clients), 0), dtype=np.float32)
            there = Cohort(going.number, list(clients), sizes, empty, self.members.population, state.omega)
            there.answers = self.members.answers
            weights, metrics = self.weave.weights_before(there, state)
            masked.noted |= metrics
            return weights.tolist(), there.share.tolist()

        try:
            masked.agreed = agree(line, asked, threshold, weigh, self.members.setup)
        except NoSum as problem:
            masked.fail(problem)
        masked.refused |= line.silent
        masked.bytes_down = line.bytes_down
        masked.noted["secure/agreed"] = len(masked.agreed.clients) if masked.agreed else 0
        masked.noted["secure/seconds"] = time.monotonic() - began
        if masked.agreed is None:
            return masked, ()
        masked.enough = min(max(masked.enough, threshold), len(masked.agreed.parcels))
        return masked, masked.agreed.sharing


@dataclass(kw_only=True)
class MaskedRound(Round):
    """The replies are added up as they come; nobody's own is kept."""

    line: Line
    numbers: tuple[str, ...] = ()
    agreed: Agreement | None = None
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # of the survivors, with sum 1
    update: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # their weighted mean
    buffers: Arrays = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)

    def masks(self, client: ClientId) -> Masks | None:
        assert self.agreed is not None, "only who agreed on masks is sent a model"
        parcels = self.agreed.parcels_for(self.agreed.place(client))
        self.bytes_down += sum(map(len, parcels))
        return Masks(self.agreed.session, parcels, list(self.numbers))

    def receive(
        self,
        replies: Iterable[Message],
        model: GlobalModel,
        uploads: tuple[str, ...],
        groups: Mapping[ClientId, Mapping[str, Layout]],
        max_update_norm: float,
        timeout: float,
    ) -> None:
        whole = Contributions(model.layout, self.numbers)
        total, sizes = self._added_up(replies, whole.length, timeout)
        if self.agreed is None:
            return
        began, survivors = time.monotonic(), sorted(sizes, key=client_order)
        self.noted["secure/survived"] = len(survivors)
        try:
            self.noted["secure/revealed"] = unmask(total, self.agreed, survivors, self.line, self.line.members.setup)
            self._take(whole.parted(from_fixed(total.astype(np.int64), FINE)), survivors, model)
        except NoSum as problem:
            self.fail(problem)
            return
        finally:
            self.noted["secure/seconds"] += time.monotonic() - began
        beside = self.line.bytes_up / len(survivors)
        for client in survivors:
            known = {"num-examples": float(self.line.members.sizes[client])}
            self.usable.append(ClientReply(client, model.state.omega[:0], {}, {}, known, round(sizes[client] + beside)))

    def _added_up(self, replies: Iterable[Message], length: int, timeout: float) -> tuple[Words, dict[ClientId, int]]:
        """The sum of the masked vectors, and the bytes of each by client; who fails a check is refused with a reason."""
        total: Words = np.zeros(length, dtype=WORD)
        missing, sizes = dict(self.sent), dict[ClientId, int]()
        for message in replies:
            client = missing.pop(message.metadata.src_node_id, None)
            if client is None:
                log.warning("round %d: a reply from a node that was not asked or has answered", self.number)
                continue
            try:
                check_round(message, self.number)
                words, sizes[client] = Masked.read(message, length)
            except BadReply as problem:
                self.refused[client] = str(problem)
                continue
            np.add(total, words, out=total)
        slow = "enough others were faster" if len(sizes) >= self.enough else f"no reply within {timeout:g} s"
        self.refused |= dict.fromkeys(missing.values(), slow)
        return total, sizes

    def _take(
        self,
        parts: tuple[NDArray[np.float64], Arrays, dict[str, float]],
        survivors: Sequence[ClientId],
        model: GlobalModel,
    ) -> None:
        """Divide the sums by the weights of those who are in them."""
        assert self.agreed is not None
        places = [self.agreed.place(client) for client in survivors]
        weights, sizes = (np.array(each)[places] for each in (self.agreed.weights, self.agreed.sizes))
        everybody = len(places) == len(self.agreed.clients)  # whose weights have the sum 1, give or take the last bit
        weight, size = (1.0, 1.0) if everybody else (weights.sum(), sizes.sum())
        update, changes, numbers = parts
        self.weights, self.update = weights / weight, update / weight
        self.means = {name: value / weight for name, value in numbers.items()}
        self.means[LOSS] = numbers[LOSS] / size
        for name, sent in model.state.buffers.items():
            mean = sent.astype(np.float64) + changes[name] / weight
            self.buffers[name] = (mean if np.issubdtype(sent.dtype, np.floating) else np.rint(mean)).astype(sent.dtype)

    def fail(self, problem: NoSum) -> None:
        log.warning("round %d: there is no sum under masks: %s", self.number, problem)
        self.noted["secure/failed"] = str(problem)

    def mean_buffers(self, weights: NDArray[np.float64]) -> Arrays:
        """Counters too by the weights, rounded: nobody knows the largest."""
        return self.buffers

    def cohort(self, members: Membership, omega: Vector) -> Cohort:
        sizes = np.array([reply.size for reply in self.usable], dtype=np.float64)
        updates: Any = Summed(len(sizes), self.weights, self.update, self.means)
        ids = [reply.client for reply in self.usable]
        made = Cohort(self.number, ids, sizes, updates, members.population, omega, answers=members.answers)
        made.agreed, made.mean_loss = self.weights, self.means[LOSS]
        return made
