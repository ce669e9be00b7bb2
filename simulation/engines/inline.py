"""The inline engine: every client runs in this process, one after the other. It is for debugging and for tests."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable
from uuid import uuid4

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp

from fl_config.toml import Scalar
from fl_protocol.flower import ErrorCode, set_message_id
from simulation.engines.simulated_grid import SimulatedGrid
from simulation.engines.transport.wire import FIRST_NODE

log = logging.getLogger("fedloom")


class InlineGrid(SimulatedGrid):
    """A Flower `Grid` whose nodes are contexts in this process. A message is answered when its reply is pulled, one per pull."""

    def __init__(self, client_app: ClientApp, clients: int, run_config: dict[str, Scalar]) -> None:
        self.client_app = client_app
        super().__init__(clients)
        self.run_config = dict(run_config)
        self.contexts: dict[int, Context] = {}  # of those that were ever sent a message
        self.waiting: dict[str, Message] = {}

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        pushed = []
        for message in messages:
            set_message_id(message, str(uuid4()))
            self.waiting[message.metadata.message_id] = message
            pushed.append(message.metadata.message_id)
        return pushed

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wanted = set(message_ids)
        chosen = next((known for known in self.waiting if known in wanted), None)
        return [] if chosen is None else [self._answer(self.waiting.pop(chosen))]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return [self._answer(self.waiting.pop(known)) for known in self.push_messages(messages)]

    def context(self, node: int) -> Context:
        """What the client at a node has; made when it is first needed, so that a million clients cost no more than those that train."""
        if node not in self.contexts:
            given: dict[str, Scalar] = {"partition-id": node - FIRST_NODE, "num-partitions": self.clients}
            self.contexts[node] = Context(self._run.run_id, node, given, RecordDict(), self.run_config)
        return self.contexts[node]

    def _answer(self, message: Message) -> Message:
        try:
            return self.client_app(message, self.context(message.metadata.dst_node_id))
        except Exception as error:
            log.debug("%s", traceback.format_exc())
            reason = f"{type(error).__name__}: {error}"
            return Message(Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason=reason), reply_to=message)
