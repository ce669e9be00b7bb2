"""Five clients with linear models under the inline engine; what is wrong with their replies is up to the test."""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MessageType
from flwr.clientapp import ClientApp
from torch import nn

from clients import LocalClient, LocalSettings
from fl_protocol.replies import ARRAYS
from fl_strategies.round.records import Observer, Record
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid

CLIENTS, FEATURES, CLASSES = 5, 4, 3
RNG = np.random.default_rng(0)
DATA = [(RNG.normal(size=(n, FEATURES)).astype(np.float32), np.arange(n) % CLASSES) for n in (6, 9, 12, 15, 18)]
LOCAL = LocalSettings(lr=0.2, batch_size=4)


class Records(Observer):
    def __init__(self) -> None:
        self.lines: list[Record] = []
        self.left_out: list[tuple[int, Any, str]] = []

    def recorded(self, record: Record) -> None:
        self.lines.append(record)

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self.left_out.append((round, client, reason))


def app(misbehave: Any = None) -> ClientApp:
    """Somebody's ClientApp: a LocalClient on arrays, and something wrong with its replies."""
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        x, y = DATA[number]
        one = LocalClient.on_arrays(
            nn.Linear(FEATURES, CLASSES), x, y, client_id=number, num_classes=CLASSES, state=context.state
        )
        reply = one.answer(message)
        if misbehave and message.metadata.message_type == MessageType.TRAIN:
            config = message.content["config"]
            return misbehave(number, int(config["server-round"]), reply) or reply  # type: ignore[index,arg-type,call-overload]
        return reply

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


def initial() -> ArrayRecord:
    return ArrayRecord(
        {
            "weight": Array(np.zeros((CLASSES, FEATURES), dtype=np.float32)),
            "bias": Array(np.zeros(CLASSES, dtype=np.float32)),
        }
    )


def start(
    strategy: str = "fedavg", misbehave: Any = None, rounds: int = 3, **more: Any
) -> tuple[ComposedStrategy, Records, Any]:
    records = Records()
    made = ComposedStrategy(strategy, local=LOCAL, observers=[records], min_clients=CLIENTS, **more)
    grid = InlineGrid(app(misbehave), CLIENTS, {})
    result = made.start(grid, initial(), rounds)
    return made, records, result


def with_arrays(reply: Message, **changes: np.ndarray) -> None:
    for name, value in changes.items():
        reply.content[ARRAYS][name] = Array(value)  # type: ignore[index]


def run(grid: InlineGrid, rounds: int = 1, **more: Any) -> tuple[ComposedStrategy, Records]:
    records = Records()
    made = ComposedStrategy("fedavg", local=LOCAL, observers=[records], **{"min_clients": CLIENTS, **more})
    made.start(grid, initial(), rounds)
    return made, records
