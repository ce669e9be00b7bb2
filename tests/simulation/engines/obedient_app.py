"""A ClientApp for the engine's tests that does what a message tells it: echo, count, wait, raise, or end its own process.

Workers import it by its bare name; `orders` makes the messages that tell it, `answered` and `refused` read its replies.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from simulation.engines.transport.wire import FIRST_NODE

app = ClientApp()


@app.query()
@app.train()
def obey(message: Message, context: Context) -> Message:
    order = dict(message.content["config"])  # type: ignore[arg-type]
    number = int(context.node_config["partition-id"])
    if order.get("die") == number and _first_time(str(order.get("once", ""))):
        os.kill(os.getpid(), signal.SIGKILL)
    if order.get("fail") == number or order.get("fail") == -1:
        raise ValueError(f"client {number} was told to fail")
    if order.get("exit") == number:
        raise SystemExit("told to exit")
    if order.get("hang") == number:
        time.sleep(3600)
    time.sleep(float(order.get("seconds", 0.0)))
    visits = int(dict(context.state.get("visits", {})).get("count", 0)) + 1
    if order.get("remember"):
        context.state["visits"] = ConfigRecord({"count": visits})
    facts = {"num-examples": 10 + number, "visits": visits, "pid": os.getpid(), "began": time.time()}
    content = RecordDict({"metrics": MetricRecord(facts)})
    if "arrays" in message.content:
        content["arrays"] = message.content["arrays"]
    return Message(content, reply_to=message)


def _first_time(mark: str) -> bool:
    """Whether this order is not yet carried out; without a mark it always counts as the first."""
    if not mark:
        return True
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def orders(clients: int, kind: str = MessageType.TRAIN, **order: Any) -> list[Message]:
    """The same order for each of the first so many clients."""
    return [
        Message(RecordDict({"config": ConfigRecord(order)}), FIRST_NODE + number, kind) for number in range(clients)
    ]


def answered(replies: Iterable[Message]) -> dict[int, dict[str, Any]]:
    """What each client that answered tells of itself."""
    good = [reply for reply in replies if not reply.has_error()]
    return {reply.metadata.src_node_id - FIRST_NODE: dict(reply.content["metrics"]) for reply in good}  # type: ignore[arg-type]


def refused(replies: Iterable[Message]) -> dict[int, str]:
    """Why each of the others did not."""
    return {reply.metadata.src_node_id - FIRST_NODE: reply.error.reason for reply in replies if reply.has_error()}
