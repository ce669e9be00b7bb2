"""Replies that cannot be used: the culprit is left out by name, the others go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ConfigRecord, Error, Message, MessageType, MetricRecord, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.supercore.task_identity import TaskIdentity

from fl_protocol.codec import CONFIG, VERSION
from fl_protocol.layout import Layout
from fl_protocol.replies import (
    ARRAYS,
    EXTRA,
    METRICS,
    BadReply,
    Introduction,
    MaskedPart,
    Probed,
    Scored,
    properties,
    told_names,
)
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
    assert "its host is gone" in records.lines[1]["dropped"][0]["reason"]
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


# Replies that are one message each


def sent(content: RecordDict) -> Message:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    return Message(content, reply_to=Message(RecordDict(), 7, MessageType.QUERY))


def failed() -> Message:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    asked = Message(RecordDict(), 7, MessageType.QUERY)
    return Message(Error(code=2, reason="Traceback\nValueError: no GPU"), reply_to=asked)


WHO = Introduction("site", 40, 3, [1, 8, 8], ["w", "b"], ["b"], [], ["cat", "dog", "7"], {"discrepancy": 0.25})


def test_an_introduction_comes_back_as_it_was() -> None:
    assert Introduction.read(sent(properties(WHO))) == WHO
    plain = properties(WHO).config_records[CONFIG]
    assert all(not isinstance(value, list) for value in plain.values()) and plain["discrepancy"] == 0.25


def test_an_introduction_that_lacks_something_or_is_of_another_version_is_refused() -> None:
    told = dict(properties(WHO).config_records[CONFIG])
    del told["trunk-end"]
    with pytest.raises(BadReply, match="does not say its trunk end: its FedLoom is older or newer than the server's"):
        Introduction.read(sent(RecordDict({CONFIG: ConfigRecord(told)})))
    told |= {"trunk-end": "[]", "protocol": VERSION + 1}
    with pytest.raises(BadReply, match=f"speaks version {VERSION + 1} of the protocol, the server version {VERSION}"):
        Introduction.read(sent(RecordDict({CONFIG: ConfigRecord(told)})))
    with pytest.raises(BadReply, match=r"^ValueError: no GPU$"):
        Introduction.read(failed())


def test_class_names_that_are_only_numbers_are_not_told() -> None:
    assert told_names(["0", "1", "2"]) == [] and told_names(["0", "cat"]) == ["0", "cat"] and told_names([]) == []


def test_a_part_of_a_secure_sum_is_either_a_key_or_a_vector() -> None:
    key, vector = sent(properties(MaskedPart(public_key=b"k"))), sent(properties(MaskedPart(masked=b"v")))
    assert (MaskedPart.read(key, "public-key"), MaskedPart.read(vector, "masked")) == (b"k", b"v")
    for message, wanted in ((key, "masked"), (vector, "public-key")):
        with pytest.raises(BadReply, match=f"it sent no {wanted}"):
            MaskedPart.read(message, wanted)
    with pytest.raises(BadReply, match="no GPU"):
        MaskedPart.read(failed(), "masked")


def test_a_measurement_has_the_heads_update_its_steps_and_its_origin() -> None:
    update = {"b": np.array([0.5, -1.0], dtype=np.float32)}
    numbers = {"num-examples": 4.0, "steps": 8.0, "initial-checksum": 77.0}
    layout = Layout.of(update, ["b"])
    read = Probed.read(sent(Probed(update, numbers).pack()), layout)
    np.testing.assert_array_equal(read.update["b"], update["b"])
    assert read.metrics == numbers and read.bytes > update["b"].nbytes
    for name in ("steps", "initial-checksum"):
        less = {key: value for key, value in numbers.items() if key != name}
        with pytest.raises(BadReply, match="lacks the number of steps or the initial model's checksum"):
            Probed.read(sent(Probed(update, less).pack()), layout)


def test_a_score_comes_back_with_its_own_numbers_apart() -> None:
    score = Scored(9, 0.5, {"accuracy": 0.75, "accuracy-before": 0.25})
    assert Scored.read(sent(score.pack())) == score
    empty = Scored.read(sent(RecordDict({METRICS: MetricRecord({"accuracy": 0.5})})))
    assert empty.num_examples == 0 and np.isnan(empty.loss) and empty.metrics == {"accuracy": 0.5}
    with pytest.raises(BadReply, match="no MetricRecord 'metrics'"):
        Scored.read(sent(RecordDict()))
