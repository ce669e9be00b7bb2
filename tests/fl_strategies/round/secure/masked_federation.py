"""Five clients with linear models whose updates are summed under masks; who goes away when, and what is overheard, is up to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from numpy.typing import NDArray
from torch import nn

from clients import LocalClient, LocalSettings
from clients.secure import aggregation
from fl_protocol.messages import Train, read_message
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, DATA, FEATURES, LOCAL, Records, initial

Away = Callable[[int, Any], bool]  # a client's number and what it is asked


def order_of(message: Message) -> Any:
    return read_message(message.content, "query", LocalSettings())


def linear() -> nn.Module:
    return nn.Linear(FEATURES, CLASSES)


def app(away: Away | None = None, model: Callable[[], nn.Module] = linear) -> ClientApp:
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        if away and away(number, order_of(message)):
            raise RuntimeError("away")
        x, y = DATA[number]
        one = LocalClient.on_arrays(model(), x, y, client_id=number, num_classes=CLASSES, state=context.state)
        return one.answer(message)

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


class Wire(InlineGrid):
    """Keeps every message and every reply."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[int, Message, Message]] = []  # the client's number, what it was asked, what it answered

    def _answer(self, message: Message) -> Message:
        reply = super()._answer(message)
        self.seen.append((message.metadata.dst_node_id - 2, message, reply))
        return reply


def start(
    strategy: str = "fedavg",
    away: Away | None = None,
    rounds: int = 1,
    arrays: Any = None,
    model: Callable[[], nn.Module] = linear,
    clients: int = CLIENTS,
    **more: Any,
) -> tuple[ComposedStrategy, Records, Wire]:
    records, grid = Records(), Wire(app(away, model), clients, {})
    settings: dict[str, Any] = {"local": LOCAL, "min_clients": clients, "secure_aggregation": True, **more}
    made = ComposedStrategy(strategy, observers=[records], **settings)
    made.start(grid, initial() if arrays is None else arrays, rounds)
    return made, records, grid


Added = dict[
    tuple[int, int], NDArray[np.float64]
]  # what each client added, by its round and number, before fixed point


@contextmanager
def overheard() -> Iterator[Added]:
    """Looks over the clients' shoulders, at what they are about to mask."""
    seen: Added = {}
    plain = aggregation.contribution

    def listen(order: Train, trained: Any, parameters: Any, agreed: Any) -> Any:
        values = plain(order, trained, parameters, agreed)
        number = next(i for i, (_, y) in enumerate(DATA) if len(y) == int(trained.metrics["num-examples"]))
        seen[order.round, number] = values
        return values

    with patch.object(aggregation, "contribution", listen):
        yield seen
