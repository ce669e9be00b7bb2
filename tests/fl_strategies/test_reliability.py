"""Slow, late, returning and unfitting clients: what a round does about them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, Error, Message, MessageType
from flwr.common.constant import SUPERLINK_NODE_ID

from clients import LocalSettings
from fl_config.errors import ConfigError
from fl_strategies.sampling import sample_cohort, spare_clients
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.test_strategy import CLASSES, CLIENTS, Records, app, initial, start

LOCAL = LocalSettings(lr=0.2, batch_size=4)


def run(grid: InlineGrid, rounds: int = 1, **more: Any) -> tuple[ComposedStrategy, Records]:
    records = Records()
    made = ComposedStrategy("fedavg", local=LOCAL, observers=[records], **{"min_clients": CLIENTS, **more})
    made.start(grid, initial(), rounds)
    return made, records


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


def test_spare_clients_are_others_and_a_function_of_seed_and_round() -> None:
    cohort = sample_cohort(range(20), 0.5, 3, 1)
    spare = spare_clients(range(20), cohort, 0.3, 3, 1)
    assert len(spare) == 3 and not set(spare) & set(cohort)
    assert spare == spare_clients(reversed(range(20)), cohort, 0.3, 3, 1)
    assert spare_clients(range(20), cohort, 0.0, 3, 1) == []
    assert len(spare_clients(range(20), cohort, 5.0, 3, 1)) == 10


def test_a_reply_to_an_earlier_round_is_never_used() -> None:
    class Replaying(InlineGrid):
        """Hands out client 1's reply of round 1 again in round 2, as an answer to the new message."""

        old: Message | None = None

        def _answer(self, message: Message) -> Message:
            reply = super()._answer(message)
            if message.metadata.message_type != MessageType.TRAIN or message.metadata.dst_node_id != 3:
                return reply
            if self.old is None:
                self.old = reply
                return reply
            self.old.metadata.__dict__["_reply_to_message_id"] = message.metadata.message_id
            return self.old

    _, records = run(Replaying(app(), CLIENTS, {}), rounds=2)
    assert records.lines[1]["cohort"] == [0, 1, 2, 3, 4]
    assert records.lines[2]["cohort"] == [0, 2, 3, 4]
    assert records.lines[2]["dropped"] == [{"id": 1, "reason": "it answers round 1, not round 2"}]


def test_what_flower_says_of_a_vanished_node_counts_for_that_node() -> None:
    class Vanished(InlineGrid):
        def _answer(self, message: Message) -> Message:
            if message.metadata.message_type == MessageType.QUERY or message.metadata.dst_node_id != 4:
                return super()._answer(message)
            reply = Message(Error(code=5, reason="Node Unavailable"), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = SUPERLINK_NODE_ID
            return reply

    _, records = run(Vanished(app(), CLIENTS, {}), personal_epochs=1)  # clients are asked to evaluate, too
    assert [each["id"] for each in records.lines[1]["dropped"]] == [2]
    assert "its host did not" in records.lines[1]["dropped"][0]["reason"]
    assert "personal/accuracy" in records.lines[1]


def test_a_round_waits_for_hosts_to_come_back() -> None:
    class Emptied(InlineGrid):
        looked = 0

        def get_node_ids(self) -> Iterable[int]:
            self.looked += 1
            return [] if 2 < self.looked < 6 else list(self.contexts)

    grid = Emptied(app(), CLIENTS, {})
    _, records = run(grid, rounds=2, min_replies=3, round_timeout=30)
    assert [len(line["cohort"]) for line in records.lines[1:]] == [5, 5]
    assert grid.looked >= 6


def test_an_update_is_clipped_to_the_largest_norm() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if number == 2:
            reply.content["arrays"]["bias"] = Array(np.full(CLASSES, 1e6, dtype=np.float32))  # type: ignore[index]

    made, records, _ = start(misbehave=misbehave, rounds=1, max_update_norm=0.05)
    assert made.state is not None
    assert np.linalg.norm(made.state.omega) <= 0.05 + 1e-6
    assert 2 in records.lines[1]["clipped"]
    free, records, _ = start(rounds=1, max_update_norm=1e9)
    plain, _, _ = start(rounds=1)
    assert free.state is not None and plain.state is not None
    assert records.lines[1]["clipped"] == []
    assert free.state.omega.tobytes() == plain.state.omega.tobytes()


def test_a_client_with_other_classes_or_shapes_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="client 0 has the num classes 3, the server 7"):
        run(InlineGrid(app(), CLIENTS, {}), expects={"num-classes": 7})
    with pytest.raises(ConfigError, match=r"client 0 has the sample shape \[4\], the server \[9\]"):
        run(InlineGrid(app(), CLIENTS, {}), expects={"sample-shape": "[9]"})
    _, records = run(InlineGrid(app(), CLIENTS, {}), expects={"num-classes": CLASSES, "sample-shape": "[4]"})
    assert len(records.lines[1]["cohort"]) == CLIENTS
