"""The replies of one round: read and checked as they come, with only their updates kept, so that no message outlives its turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Message
from numpy.typing import NDArray

from fl_protocol.layout import Layout
from fl_protocol.messages import Masks
from fl_protocol.replies import BadReply, ClientReply, check_round, read_reply
from fl_protocol.types import Arrays, ClientId, Vector, client_order
from fl_strategies.round.cohort import Cohort, norm
from fl_strategies.round.global_model import GlobalModel
from fl_strategies.round.membership import Membership
from fl_strategies.round.rows import Rows
from fl_strategies.server_update.average import average_buffers

log = logging.getLogger("fedloom")
UPDATES = "updates"


@dataclass
class Round:
    """What was sent in a round, and what came of it."""

    number: int
    sent: dict[int, ClientId] = field(default_factory=dict)  # who was asked, by node
    enough: int = 0  # replies that end the round
    usable: list[ClientReply] = field(default_factory=list)
    refused: dict[ClientId, str] = field(default_factory=dict)
    clipped: list[ClientId] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=dict)  # updates and extra vectors, one row per reply
    noted: dict[str, Any] = field(default_factory=dict)  # what else is worth recording
    bytes_down: int = 0  # beside the arrays of the messages

    def masks(self, client: ClientId) -> Masks | None:
        """Under which this client's reply must come; none where it comes as it is."""
        return None

    def only(self, nodes: set[int]) -> None:
        """Wait for these alone, where a subclass sends fewer messages than were made."""
        self.sent = {node: client for node, client in self.sent.items() if node in nodes}
        self.enough = min(self.enough, len(self.sent))

    def receive(
        self,
        replies: Iterable[Message],
        model: GlobalModel,
        uploads: tuple[str, ...],
        groups: Mapping[ClientId, Mapping[str, Layout]],
        max_update_norm: float,
        timeout: float,
    ) -> None:
        """Read the replies to `model`; who fails a check is refused with a reason."""
        layout, omega, sent = model.layout, model.state.omega, model.model()
        self.rows = {UPDATES: Rows(layout.dim, base=omega), **{name: Rows(layout.dim) for name in uploads}}
        missing, trained = dict(self.sent), 0
        for message in replies:
            trained += not message.has_error()
            client = missing.pop(message.metadata.src_node_id, None)
            if client is None:
                who = self.sent.get(message.metadata.src_node_id)
                odd = "a client that was not asked" if who is None else f"client {who}, which has answered"
                log.warning("round %d: a reply from %s", self.number, odd)
                continue
            try:
                check_round(message, self.number)
                reply = read_reply(message, client, layout, uploads, sent, groups[client])
            except BadReply as problem:
                self.refused[client] = str(problem)
                continue
            if max_update_norm and limit_update(reply, omega, max_update_norm):
                self.clipped.append(client)
            for name, row in {UPDATES: reply.vector, **reply.extras}.items():
                self.rows[name].add(row)
            reply.place, reply.vector, reply.extras = len(self.usable), omega[:0], {}
            self.usable.append(reply)
        slow = "enough others were faster" if trained >= self.enough else f"no reply within {timeout:g} s"
        self.refused |= dict.fromkeys(missing.values(), slow)
        self.usable.sort(key=lambda reply: client_order(reply.client))

    def mean_buffers(self, weights: NDArray[np.float64]) -> Arrays:
        return average_buffers([reply.buffers for reply in self.usable], weights)

    @property
    def dropped(self) -> list[dict[str, object]]:
        return [{"id": client, "reason": self.refused[client]} for client in sorted(self.refused, key=client_order)]

    @property
    def record(self) -> dict[str, Any]:
        return {"dropped": self.dropped, "cohort": [reply.client for reply in self.usable], **self.noted}

    def cohort(self, members: Membership, omega: Vector) -> Cohort:
        """The usable replies as the parts see them. The rows are handed over."""
        usable, order = self.usable, [reply.place for reply in self.usable]
        rows = {name: rows.arranged(order) for name, rows in self.rows.items()}
        self.rows = {}
        common = set.intersection(*(set(reply.metrics) for reply in usable)) if usable else set()
        return Cohort(
            round=self.number,
            ids=[reply.client for reply in usable],
            sizes=np.array([reply.size for reply in usable], dtype=np.float64),
            updates=rows.pop(UPDATES),
            population=members.population,
            sent=omega,
            extras=rows,
            metrics={name: np.array([reply.metrics[name] for reply in usable]) for name in sorted(common)},
            answers=members.answers,
        )


def limit_update(reply: ClientReply, omega: Vector, largest: float) -> bool:
    """Scale theta_i - omega down to the norm `largest`; says whether it was longer. What comes beside the model stays as it is."""
    update = reply.vector.astype(np.float64) - omega
    length = norm(update)
    if length <= largest:
        return False
    reply.vector = (omega + update * (largest / length)).astype(np.float32)
    return True
