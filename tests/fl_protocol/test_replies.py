"""Replies that cannot be used: the culprit is left out by name, the others go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, Error, Message, MessageType
from flwr.common.constant import SUPERLINK_NODE_ID

from fl_protocol.replies import ARRAYS, EXTRA, METRICS
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, FEATURES, app, run, start, with_arrays


def poison(value: float) -> Any:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if number == 2:
            with_arrays(reply, bias=np.array([0, value, 0], dtype=np.float32))

    return misbehave


def raising(number: int, round: int, reply: Message) -> None:
    if number == 2:
        raise RuntimeError("out of disk")


def misshapen(number: int, round: int, reply: Message) -> None:
    if number == 2:
        with_arrays(reply, weight=np.zeros((2, FEATURES), dtype=np.float32))


def renamed(number: int, round: int, reply: Message) -> None:
    if number == 2:
        reply.content[ARRAYS]["extra.weight"] = Array(np.zeros(1, dtype=np.float32))  # type: ignore[index]


def retyped(number: int, round: int, reply: Message) -> None:
    if number == 2:
        with_arrays(reply, bias=np.zeros(CLASSES, dtype=np.float64))


def huge(number: int, round: int, reply: Message) -> None:
    if number == 2:
        array = reply.content[ARRAYS]["bias"]  # type: ignore[index]
        array.data = array.data + b"\0" * 100_000  # type: ignore[union-attr]


def empty(number: int, round: int, reply: Message) -> None:
    if number == 2:
        reply.content[METRICS]["num-examples"] = 0  # type: ignore[index]


def bare(number: int, round: int, reply: Message) -> None:
    if number == 2:
        del reply.content[ARRAYS]


@pytest.mark.parametrize(
    ("misbehave", "word"),
    [
        (poison(float("nan")), "not finite"),
        (poison(float("inf")), "not finite"),
        (raising, "out of disk"),
        (misshapen, "shape (2, 4) instead of (3, 4)"),
        (renamed, "'extra.weight'"),
        (retyped, "float64 instead of float32"),
        (huge, "more than its shape needs"),
        (empty, "no training examples"),
        (bare, "no ArrayRecord"),
    ],
)
def test_one_bad_client_is_left_out_by_name_and_the_others_go_on(misbehave: Any, word: str) -> None:
    _, records, result = start(misbehave=misbehave)
    for line in records.lines[1:]:
        assert line["cohort"] == [0, 1, 3, 4]
        assert [each["id"] for each in line["dropped"]] == [2]
        assert word in line["dropped"][0]["reason"]
        assert sum(line["weights"]) == pytest.approx(1)
    assert [(round, client) for round, client, _ in records.left_out] == [(1, 2), (2, 2), (3, 2)]
    assert all(np.isfinite(array.numpy()).all() for array in result.arrays.values())


def test_three_kinds_of_failure_in_one_round() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if number == 0:
            with_arrays(reply, bias=np.full(CLASSES, np.nan, dtype=np.float32))
        if number == 1:
            with_arrays(reply, weight=np.zeros((1, 1), dtype=np.float32))
        if number == 3:
            raise ValueError("no GPU")

    _, records, _ = start(misbehave=misbehave, rounds=1)
    assert records.lines[1]["cohort"] == [2, 4]
    assert [each["id"] for each in records.lines[1]["dropped"]] == [0, 1, 3]


def test_a_missing_upload_is_refused() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if number == 1:
            del reply.content[EXTRA]
        if number == 3:
            reply.content[EXTRA]["delta_c"] = Array(np.zeros(2, dtype=np.float32))  # type: ignore[index]

    _, records, _ = start("scaffold", misbehave, rounds=1)
    assert [each["id"] for each in records.lines[1]["dropped"]] == [1, 3]


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
