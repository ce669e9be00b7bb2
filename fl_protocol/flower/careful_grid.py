"""The grid of a deployed run: Flower's, which one site cannot hold up or bring down.

Flower announces a reply before its arrays have come, and its grid then waits for them, for hours if need be, while nothing else is
received. Here arrays are fetched as far as they are there, and what is not complete is looked at again with the next question; a
site that goes away in the midst of sending is given up when it is missed.
What cannot be read ends Flower's grid with an exception, and so the run; here it is an error of the site that sent it. And a reply
counts for the site that was asked, whatever it says of its sender.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Error, Message, Metadata
from flwr.app.message import make_message
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.supercore.constant import SYSTEM_MESSAGE_TYPE
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPullError,
    ObjectUnavailableError,
    inflate_object_from_contents,
)
from flwr.superlink.grid import HttpGrid

from fl_protocol.flower.envelope import SUPERLINK_NODE_ID, ErrorCode, set_message_id, set_sender

AT_ONCE = 8  # arrays that are fetched side by side
LOOK = 1.0  # seconds between two looks whether those who are sending are still there
UNREADABLE = "what it sent cannot be read"
INCOMPLETE = "it did not send all of its reply"


@dataclass
class Arriving:
    """A reply that was announced: the objects it consists of, and those that are here."""

    message_id: str
    objects: list[str]
    here: dict[str, bytes] = field(default_factory=dict)


class CarefulGrid(HttpGrid):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.asked: dict[str, int] = {}  # the node of each message that was sent
        self.arriving: dict[str, Arriving] = {}  # by the message that they reply to
        self.looked = time.monotonic()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        sent = list(messages)
        numbers = list(super().push_messages(sent))
        nodes = [message.metadata.dst_node_id for message in sent]
        self.asked |= {number: node for number, node in zip(numbers, nodes, strict=True) if number}
        return numbers

    def abandon(self, messages: Iterable[str]) -> None:
        """Nobody waits for the replies to these any more."""
        for number in messages:
            self._forget(number)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies that have arrived whole, and errors in place of those that never will."""
        wanted = set(message_ids)
        if fresh := wanted - self.arriving.keys():
            came = self._runtime_client.PullMessages(PullAppMessagesRequest(message_ids=fresh))
            for proto, tree in zip(came.messages_list, came.message_object_trees, strict=True):
                number = proto.metadata.reply_to_message_id
                if number in fresh:
                    objects = [each.object_id for each in iterate_object_tree(tree)]
                    self.arriving[number] = Arriving(proto.metadata.message_id, objects)
        return list(self._arrived(wanted))

    def _arrived(self, wanted: set[str]) -> Iterator[Message]:
        gone = self._gone() if self.arriving.keys() & wanted else set()
        for number in sorted(self.arriving.keys() & wanted):
            reply = self.arriving[number]
            try:
                whole = self._fetch(reply)
            except ObjectPullError:
                yield self._failure(number, ErrorCode.MESSAGE_UNAVAILABLE, INCOMPLETE)
                continue
            if whole:
                yield self._read(number, reply)
            elif self.asked.get(number) in gone:
                yield self._failure(number, ErrorCode.NODE_UNAVAILABLE, INCOMPLETE)

    def _gone(self) -> set[int]:
        """Nodes that are sending but no longer there, looked up now and then."""
        if time.monotonic() < self.looked + LOOK:
            return set()
        self.looked = time.monotonic()
        return {self.asked[number] for number in self.arriving if number in self.asked} - set(self.get_node_ids())

    def _fetch(self, reply: Arriving) -> bool:
        """Fetch what is there of the reply; says whether that is all of it."""
        pull = make_pull_object_fn_protobuf(self._runtime_client.PullObject, self.node, self.run.run_id)

        def found(name: str) -> bytes | None:
            try:
                return pull(name)
            except ObjectUnavailableError:
                return None

        missing = [name for name in reply.objects if name not in reply.here]
        with ThreadPoolExecutor(max(1, min(AT_ONCE, len(missing)))) as hands:
            for name, content in zip(missing, hands.map(found, missing), strict=True):
                if content is not None:
                    reply.here[name] = content
        return len(reply.here) == len(set(reply.objects))

    def _read(self, number: str, reply: Arriving) -> Message:
        confirmed = ConfirmMessageReceivedRequest(
            node=self.node, run_id=self.run.run_id, message_object_id=reply.message_id
        )
        self._runtime_client.ConfirmMessageReceived(confirmed)
        try:
            message = inflate_object_from_contents(reply.message_id, reply.here)
            if not isinstance(message, Message) or message.metadata.reply_to_message_id != number:
                return self._failure(number, ErrorCode.UNKNOWN, UNREADABLE)
        except Exception as problem:  # whatever a site may send
            return self._failure(number, ErrorCode.UNKNOWN, f"{UNREADABLE} ({type(problem).__name__})")
        set_message_id(message, reply.message_id)
        set_sender(message, self._forget(number))
        return message

    def _forget(self, number: str) -> int:
        """The message is answered; returns who was asked."""
        self.arriving.pop(number, None)
        return self.asked.pop(number, SUPERLINK_NODE_ID)

    def _failure(self, number: str, code: int, reason: str) -> Message:
        told = Metadata(
            run_id=self.run.run_id,
            message_id="",
            src_node_id=self._forget(number),
            dst_node_id=SUPERLINK_NODE_ID,
            message_type=SYSTEM_MESSAGE_TYPE,
            group_id="",
            ttl=0,
            reply_to_message_id=number,
            created_at=time.time(),
        )
        return make_message(metadata=told, error=Error(code, reason))
