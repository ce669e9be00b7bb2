"""Noise is added only where a run asks for it, and only to what was trained."""

from __future__ import annotations

from typing import Any

import pytest
from flwr.app import Context, Message, MessageType, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from clients.privacy import differential_privacy


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (MessageType.TRAIN, {}),  # somebody's own app, which has none of our options
        (MessageType.TRAIN, {"dp-clip": 0.0}),
        (MessageType.EVALUATE, {"dp-clip": 1.0, "dp-epsilon": 1.0, "dp-delta": 1e-5}),
        (MessageType.QUERY, {"dp-clip": 1.0, "dp-epsilon": 1.0, "dp-delta": 1e-5}),
    ],
)
def test_everything_else_passes_untouched(kind: str, config: dict[str, Any]) -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    message, context = Message(RecordDict(), 5, kind), Context(1, 5, {}, RecordDict(), config)
    reply = Message(RecordDict(), reply_to=message)
    assert differential_privacy(message, context, lambda *_: reply) is reply
    assert not reply.content
