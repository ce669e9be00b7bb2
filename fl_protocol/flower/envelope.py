"""What Flower writes on a message and has no public way to set: its number, its sender, and the run that this process speaks for."""

from __future__ import annotations

from flwr.app import Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as RecordDictProto
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

__all__ = [
    "RESTARTED",
    "SUPERLINK_NODE_ID",
    "ErrorCode",
    "Run",
    "begin_run",
    "from_bytes",
    "set_message_id",
    "set_sender",
    "speak_for",
    "to_bytes",
]

RESTARTED = "its host was started again after it had taken the message"  # said by our superlink
TASK = 1  # Flower counts the processes of a run; ours is the only one that it knows of


def begin_run(run_id: int) -> Run:
    """A run of this number, for which this process speaks from now on."""
    speak_for(run_id)
    return Run.create_empty(run_id=run_id)


def speak_for(run_id: int) -> None:
    """Messages that are made in this process belong to this run and come from its server; Flower refuses to make any before."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = run_id, SUPERLINK_NODE_ID, TASK


def set_message_id(message: Message, message_id: str) -> None:
    """Flower numbers a message when its own grid sends it; a grid of ours does so itself."""
    message.metadata.__dict__["_message_id"] = message_id


def set_sender(message: Message, node: int) -> None:
    """What Flower itself says about a node that is gone comes in the server's name: let it come in the node's."""
    message.metadata.__dict__["_src_node_id"] = node


def to_bytes(records: RecordDict) -> bytes:
    """The same records give the same bytes."""
    written: bytes = recorddict_to_proto(records).SerializeToString(deterministic=True)
    return written


def from_bytes(written: bytes) -> RecordDict:
    return recorddict_from_proto(RecordDictProto.FromString(written))
