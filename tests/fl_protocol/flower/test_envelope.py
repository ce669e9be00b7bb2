"""Messages carry the number, the sender and the run that they are given, and records survive the way through bytes."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fl_protocol.flower import (
    SUPERLINK_NODE_ID,
    begin_run,
    from_bytes,
    set_message_id,
    set_sender,
    speak_for,
    to_bytes,
)


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process speaks for no run, and for whichever it did before when the test has ended."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, None)


def test_a_message_belongs_to_the_run_that_the_process_speaks_for() -> None:
    with pytest.raises(RuntimeError, match="not set"):
        Message(RecordDict(), 2, MessageType.TRAIN)
    speak_for(7)
    metadata = Message(RecordDict(), 2, MessageType.TRAIN).metadata
    assert (metadata.run_id, metadata.src_node_id) == (7, SUPERLINK_NODE_ID)
    assert begin_run(8).run_id == 8
    assert Message(RecordDict(), 2, MessageType.TRAIN).metadata.run_id == 8


def test_a_reply_answers_the_number_that_was_set_and_its_sender_can_be_corrected() -> None:
    speak_for(1)
    message = Message(RecordDict(), 2, MessageType.TRAIN)
    set_message_id(message, "first")
    assert message.metadata.message_id == "first"
    reply = Message(RecordDict(), reply_to=message)
    assert reply.metadata.reply_to_message_id == "first"
    assert reply.metadata.src_node_id == 2
    set_sender(reply, 5)
    assert reply.metadata.src_node_id == 5


def test_records_are_the_same_after_their_way_through_bytes_and_give_the_same_bytes_again() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    records = RecordDict({"arrays": ArrayRecord({"w": Array(values)}), "config": ConfigRecord({"b": 2, "a": "one"})})
    back = from_bytes(to_bytes(records))
    assert dict(back["config"]) == {"b": 2, "a": "one"}  # type: ignore[arg-type]
    np.testing.assert_array_equal(back.array_records["arrays"]["w"].numpy(), values)
    assert to_bytes(back) == to_bytes(records)
