"""Taking the masks off a sum: a share that was tampered with, or one too few, leaves the masks where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message

from fl_protocol.messages import Setup, ShareSecrets, Unmask
from fl_strategies.round.secure.agreement import Agreement, NoSum
from fl_strategies.round.secure.unmasking import unmask
from fl_strategies.strategy import ComposedStrategy
from tests.fl_strategies.linear_federation import CLIENTS, LOCAL, Records, initial
from tests.fl_strategies.round.secure.masked_federation import Wire, app, order_of, start


class Tampered(Wire):
    """Client 0 reveals other shares than it was given."""

    def __init__(self, change: Any) -> None:
        super().__init__(app(), CLIENTS, {})
        self.change = change

    def _answer(self, message: Message) -> Message:
        reply = super()._answer(message)
        if isinstance(order_of(message), Unmask) and message.metadata.dst_node_id == 2:
            shares: Any = reply.content["config"]["by-place"]  # type: ignore[index,call-overload]
            reply.content["config"] = ConfigRecord({"by-place": self.change(list(shares))})
        return reply


@pytest.mark.parametrize(
    "change",
    [
        lambda shares: [shares[0], shares[1][:-1] + bytes([shares[1][-1] ^ 1]), *shares[2:]],
        lambda shares: [shares[0], b"", *shares[2:]],
        lambda shares: [shares[0], b"\x02" + shares[1][1:], *shares[2:]],
        lambda shares: [shares[0], shares[2], *shares[2:]],
    ],
)
def test_a_wrong_share_is_noticed(change: Any) -> None:
    records = Records()
    made = ComposedStrategy("fedavg", local=LOCAL, observers=[records], min_clients=CLIENTS, secure_aggregation=True)
    made.start(Tampered(change), initial(), 1)
    assert records.lines[1]["secure/failed"] == "the shares of client 1's secret do not fit together"
    assert made.state is not None and not made.state.omega.any()


def test_survivors_are_named_to_survivors_only() -> None:
    _, _, grid = start(away=lambda number, order: number == 2 and type(order).__name__ == "Train")
    asked = [(client, order_of(message)) for client, message, _ in grid.seen]
    told = [(client, order.survivors) for client, order in asked if isinstance(order, Unmask)]
    assert told == [(client, [0, 1, 3, 4]) for client in (0, 1, 3, 4)]


def test_a_sum_that_would_be_one_clients_own_is_not_asked_for() -> None:
    """Three survivors are enough for the threshold, but two of them have the weight 0."""
    _, _, grid = start()
    peers = next(order.peers for _, message, _ in grid.seen if isinstance(order := order_of(message), ShareSecrets))
    weights = [0.6, 0.0, 0.0, 0.2, 0.2]
    agreed = Agreement("s", 3, list(range(5)), peers, weights, [0.2] * 5)
    silence: Any = None  # nobody is asked
    with pytest.raises(NoSum, match="fewer than 3 clients have a weight above 0"):
        unmask(np.zeros(4, dtype=np.uint64), agreed, [0, 1, 2], silence, Setup())
