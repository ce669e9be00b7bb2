"""Before a masked round's training: the clients show keys and share their secrets, and the server passes on what it cannot read."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flwr.app import Message, MessageType
from flwr.serverapp import Grid

from fl_config.errors import ConfigError
from fl_protocol.codec import ORDER, configuration, pack
from fl_protocol.masks import context_of, counting
from fl_protocol.messages import FEWEST, Peer, Setup, ShareSecrets, ShowKeys
from fl_protocol.replies import BadReply, check_round
from fl_protocol.secure_replies import ByPlace, Keys
from fl_protocol.types import ClientId
from fl_strategies.round.exchange import exchange
from fl_strategies.round.membership import Membership

PARCEL_BYTES = 1024  # no sealed share is longer
Answer = TypeVar("Answer")


class NoSum(ConfigError):
    """A masked sum that came to nothing; the model stays as it is."""


def needed(asked: int, share: float) -> int:
    """t: how many of the clients that are asked must be left in the end."""
    return max(FEWEST, math.ceil(share * asked - 1e-9))


@dataclass
class Line:
    """The server's line to the clients of one round, which counts the bytes of what passes beside the models."""

    grid: Grid
    members: Membership
    round: int
    timeout: float
    stop: threading.Event
    bytes_down: int = 0
    bytes_up: int = 0
    silent: dict[ClientId, str] = field(default_factory=dict)  # who did not answer, and why

    def ask(
        self, orders: Mapping[ClientId, Any], read: Callable[[Message], Answer], enough: int | None = None
    ) -> dict[ClientId, Answer]:
        """What the clients answer, as `read` understands it; who fails is silent from then on."""
        messages = []
        for client, order in orders.items():
            content = pack(order)
            self.bytes_down += len(str(configuration(content)[ORDER]))
            to = self.members.node(client)
            messages.append(Message(content, to, MessageType.QUERY, ttl=self.timeout, group_id=str(self.round)))
        clients = {self.members.node(client): client for client in orders}
        answers: dict[ClientId, Answer] = {}
        for reply in exchange(self.grid, messages, self.timeout, self.stop, enough):
            client = clients[reply.metadata.src_node_id]
            try:
                check_round(reply, self.round)
                answers[client] = read(reply)
                self.bytes_up += _length(configuration(reply.content))
            except BadReply as problem:
                self.silent[client] = str(problem)
        late = f"no answer within {self.timeout:g} s"
        self.silent |= {client: late for client in orders if client not in answers and client not in self.silent}
        return answers


@dataclass
class Agreement:
    """What the clients of a round have agreed on; a client is known by its place in `clients`."""

    session: str
    threshold: int
    clients: list[ClientId]
    peers: list[Peer]
    weights: list[float]
    sizes: list[float]
    parcels: dict[int, list[bytes]] = field(
        default_factory=dict
    )  # what each sealed for the others; all of them may mask

    @property
    def context(self) -> bytes:
        return context_of(self.session, self.threshold, self.peers, self.weights, self.sizes)

    @property
    def sharing(self) -> list[ClientId]:
        return [self.clients[place] for place in self.parcels]

    def place(self, client: ClientId) -> int:
        return self.clients.index(client)

    def parcels_for(self, place: int) -> list[str]:
        sent = [self.parcels.get(sender, [b""] * len(self.clients))[place] for sender in range(len(self.clients))]
        return [parcel.decode("ascii", "replace") for parcel in sent]


Weigh = Callable[[Sequence[ClientId]], tuple[list[float], list[float]]]  # clients -> p_i and n_i / n


def agree(line: Line, asked: Sequence[ClientId], threshold: int, weigh: Weigh, setup: Setup) -> Agreement:
    """Raise `NoSum` where fewer clients than the threshold go along."""
    session = secrets.token_hex(16)
    shown = line.ask(dict.fromkeys(asked, ShowKeys(session, setup)), Keys.read)
    clients = [client for client in asked if client in shown]
    _check(len(clients), threshold, len(asked), "showed keys", line)
    weights, sizes = weigh(clients)
    check_counting(weights)
    peers = [shown[client].peer for client in clients]
    agreed = Agreement(session, threshold, clients, peers, weights, sizes)
    order = ShareSecrets(session, peers, threshold, weights, sizes, setup)
    shared = line.ask(dict.fromkeys(clients, order), lambda reply: ByPlace.read(reply, len(clients), PARCEL_BYTES))
    agreed.parcels = {place: shared[client].each for place, client in enumerate(clients) if client in shared}
    _check(len(agreed.parcels), threshold, len(asked), "shared their secrets", line)
    return agreed


def check_counting(weights: Iterable[float]) -> None:
    """Of clients whose weight is 0 a sum tells nothing; with too few others it would be one client's own update."""
    if counting(weights) < FEWEST:
        raise NoSum(
            f"fewer than {FEWEST} clients have a weight above 0, so that the sum would tell what one of them sent"
        )


def _check(count: int, threshold: int, asked: int, what: str, line: Line) -> None:
    if count < threshold:
        reasons = "; ".join(sorted(set(line.silent.values()))[:3])
        raise NoSum(
            f"{count} of {asked} clients {what}, and {threshold} are needed ({reasons or 'too few were asked'})"
        )


def _length(told: Mapping[str, Any]) -> int:
    values = [one for value in told.values() for one in (value if isinstance(value, list) else [value])]
    return sum(len(one) for one in values if isinstance(one, bytes))
