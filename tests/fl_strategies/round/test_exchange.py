"""Messages are sent, and replies taken as they come, until all are in, enough are, time is up, or the run is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from flwr.app import Error, Message, MessageType, RecordDict
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, ObjectUnavailableError, pull_objects
from flwr.supercore.task_identity import TaskIdentity

from fl_protocol.flower import SUPERLINK_NODE_ID, ErrorCode, set_message_id, set_sender
from fl_protocol.flower.waiting import PULLS
from fl_strategies.round.exchange import RunStopped, exchange
from fl_strategies.sampling import sample_cohort
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLIENTS, Records, app, initial, run


@pytest.fixture(autouse=True)
def flowers_own() -> Iterator[None]:
    """Leaves Flower as it was."""
    before = [dict(pull.__kwdefaults__) for pull in PULLS]
    yield
    for pull, values in zip(PULLS, before, strict=True):
        pull.__kwdefaults__.update(values)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """For the nodes 2, 3 and 4."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
    return [Message(RecordDict(), node, MessageType.TRAIN) for node in (2, 3, 4)]


class Answering:
    """A grid that has one more reply at every pull, in the order of sending; `gone` nodes are told of by Flower itself."""

    def __init__(self, gone: Iterable[int] = ()) -> None:
        self.gone = set(gone)
        self.sent: dict[str, Message] = {}
        self.given_up: set[str] = set()

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        for message in messages:
            set_message_id(message, f"to node {message.metadata.dst_node_id}")
            self.sent[message.metadata.message_id] = message
        return list(self.sent)

    def pull_messages(self, wanted: Iterable[str]) -> list[Message]:
        known = next(known for known in self.sent if known in set(wanted))
        message = self.sent.pop(known)
        if message.metadata.dst_node_id not in self.gone:
            return [Message(RecordDict(), reply_to=message)]
        reply = Message(Error(code=ErrorCode.NODE_UNAVAILABLE), reply_to=message)
        set_sender(reply, SUPERLINK_NODE_ID)
        return [reply]

    def abandon(self, known: Iterable[str]) -> None:
        self.given_up = set(known)


def senders(replies: Iterable[Message]) -> list[int]:
    return [reply.metadata.src_node_id for reply in replies]


def test_what_flower_says_of_a_node_that_is_gone_comes_in_the_nodes_name(messages: list[Message]) -> None:
    grid: Any = Answering(gone=[3])
    assert senders(exchange(grid, messages, 10.0, threading.Event())) == [2, 3, 4]
    assert not grid.given_up


def test_errors_do_not_count_among_enough_replies_and_the_others_are_given_up(messages: list[Message]) -> None:
    grid: Any = Answering(gone=[2])
    assert senders(exchange(grid, messages, 10.0, threading.Event(), enough=1)) == [2, 3]
    assert grid.given_up == {"to node 4"}


def test_a_run_that_is_stopped_takes_no_more_replies_and_gives_the_others_up(messages: list[Message]) -> None:
    grid: Any = Answering()
    stop = threading.Event()
    replies = exchange(grid, messages, 10.0, stop)
    assert next(replies).metadata.src_node_id == 2
    stop.set()
    with pytest.raises(RunStopped):
        next(replies)
    assert grid.given_up == {"to node 3", "to node 4"}


def test_a_reply_that_never_arrives_whole_does_not_outlast_the_round(messages: list[Message]) -> None:
    def never(_: str) -> bytes:
        raise ObjectUnavailableError("its host died")

    class Announced:
        """A grid on which a reply is announced whose arrays never come, as with a host that dies while it sends."""

        def push_messages(self, messages: Iterable[Message]) -> list[str]:
            return ["sent"]

        def pull_messages(self, _: Iterable[str]) -> list[Message]:
            with pytest.raises(ObjectPullError):
                pull_objects(["a"], never)
            return []

    grid: Any = Announced()
    began = time.monotonic()
    assert list(exchange(grid, messages[:1], 0.6, threading.Event())) == []
    assert 0.5 < time.monotonic() - began < 2.0


def test_stop_and_timeout_end_a_round() -> None:
    class Silent(InlineGrid):
        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            waiting = [self.waiting[known].metadata.message_type for known in message_ids if known in self.waiting]
            return [] if MessageType.TRAIN in waiting else super().pull_messages(message_ids)

    records = Records()
    made = ComposedStrategy("fedavg", round_timeout=0.3, observers=[records], min_clients=CLIENTS)
    began = time.monotonic()
    made.start(Silent(app(), CLIENTS, {}), initial(), 1)
    assert time.monotonic() - began < 5
    assert all("no reply within 0.3 s" in each["reason"] for each in records.lines[1]["dropped"])
    stop = threading.Event()
    made = ComposedStrategy("fedavg", round_timeout=60, min_clients=CLIENTS, stop=stop)
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(RunStopped):
        made.start(Silent(app(), CLIENTS, {}), initial(), 1)


def test_over_sampling_takes_the_first_replies() -> None:
    class Slow(InlineGrid):
        """Client 0 never answers a training message."""

        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            kept = [known for known in message_ids if known in self.waiting]
            return super().pull_messages(
                known
                for known in kept
                if self.waiting[known].metadata.message_type != MessageType.TRAIN
                or self.waiting[known].metadata.dst_node_id != 2
            )

    began = time.monotonic()
    seed = next(s for s in range(50) if 0 in sample_cohort(range(CLIENTS), 0.6, s, 1))
    _, records = run(Slow(app(), CLIENTS, {}), fraction_train=0.6, over_sample=0.3, seed=seed, round_timeout=60)
    assert time.monotonic() - began < 20
    line = records.lines[1]
    assert len(line["cohort"]) == 3 and 0 not in line["cohort"]
    assert line["dropped"] == [{"id": 0, "reason": "enough others were faster"}]
