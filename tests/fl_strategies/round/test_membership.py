"""Returning and unfitting clients: whom a round waits for, and whom a run refuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import pytest
from flwr.app import Context, Message, MessageType

from fl_config.errors import ConfigError
from simulation.engines.inline import InlineGrid
from simulation.engines.transport.wire import FIRST_NODE
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, app, run


def test_a_round_waits_for_hosts_to_come_back() -> None:
    class Emptied(InlineGrid):
        looked = 0

        def get_node_ids(self) -> Iterable[int]:
            self.looked += 1
            return [] if 2 < self.looked < 6 else super().get_node_ids()

    grid = Emptied(app(), CLIENTS, {})
    _, records = run(grid, rounds=2, min_replies=3, round_timeout=30)
    assert [len(line["cohort"]) for line in records.lines[1:]] == [5, 5]
    assert grid.looked >= 6


def test_a_client_with_other_classes_or_shapes_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="client 0 has the num classes 3, the server 7"):
        run(InlineGrid(app(), CLIENTS, {}), expects={"num_classes": 7})
    with pytest.raises(ConfigError, match=r"client 0 has the sample shape \[4\], the server \[9\]"):
        run(InlineGrid(app(), CLIENTS, {}), expects={"sample_shape": [9]})
    _, records = run(InlineGrid(app(), CLIENTS, {}), expects={"num_classes": CLASSES, "sample_shape": [4]})
    assert len(records.lines[1]["cohort"]) == CLIENTS


def test_who_did_not_answer_is_asked_again_and_nobody_else() -> None:
    class HardOfHearing(InlineGrid):
        asked: ClassVar[list[int]] = []

        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
            sent = list(messages)
            pushed = list(super().push_messages(sent))
            if sent[0].metadata.message_type == MessageType.QUERY:
                self.asked.append(len(sent))
                if len(self.asked) == 1:
                    pushed[-1] = ""  # the message does not go out
            return pushed

    grid = HardOfHearing(app(), CLIENTS, {})
    made, records = run(grid, rounds=3, min_clients=4)
    assert grid.asked == [5, 1]
    assert [line["cohort"] for line in records.lines[1:]] == [list(range(CLIENTS))] * 3
    online = made.members.online
    made.members.refresh(grid)
    assert made.members.online is online, "nobody came or went, and all clients were looked at again"


def test_a_client_at_two_nodes_stays_at_the_newer_one_until_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    """As when a host is started twice with the same name."""
    twin = FIRST_NODE + CLIENTS  # a sixth node, which says that it is client 0

    class Doubled(InlineGrid):
        looked = 0
        trained: ClassVar[list[list[int]]] = []

        def get_node_ids(self) -> Iterable[int]:
            self.looked += 1
            nodes = list(range(FIRST_NODE, FIRST_NODE + CLIENTS))
            return [*nodes, twin] if 4 <= self.looked <= 6 else nodes

        def context(self, node: int) -> Context:
            return super().context(FIRST_NODE if node == twin else node)

        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
            sent = list(messages)
            if sent[0].metadata.message_type == MessageType.TRAIN:
                self.trained.append(sorted(message.metadata.dst_node_id for message in sent))
            return super().push_messages(sent)

    grid = Doubled(app(), CLIENTS, {})
    _, records = run(grid, rounds=6)
    others = list(range(FIRST_NODE + 1, FIRST_NODE + CLIENTS))
    assert [line["cohort"] for line in records.lines[1:]] == [list(range(CLIENTS))] * 6
    at = [next(iter(set(nodes) - set(others))) for nodes in grid.trained]
    moved = at.index(twin)
    assert at.count(twin) >= 2 and at[moved : moved + at.count(twin)] == [twin] * at.count(twin), at
    assert at[-1] == FIRST_NODE
    assert caplog.text.count("client 0 is now at another node") == 1
