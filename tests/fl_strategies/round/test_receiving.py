"""The replies of a round: who counts, who is refused and why, and the rows in the order of the clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fl_protocol.layout import Layout
from fl_protocol.replies import ClientReply, Trained
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Population
from fl_strategies.round.receiving import Round, limit_update

SENT = {"w": np.array([1.0, 2.0], dtype=np.float32), "batches": np.array(3)}
LAYOUT = Layout.of(SENT, ["w"])
MODEL: Any = SimpleNamespace(layout=LAYOUT, state=SimpleNamespace(omega=LAYOUT.pack(SENT)), model=lambda: SENT)
NODES: dict[int, ClientId] = {11: "b", 12: 7, 13: 3}


@pytest.fixture(autouse=True)
def _on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def reply(node: int, *values: float, round: int = 4, size: int = 10, **more: Any) -> Message:
    asked = Message(RecordDict(), node, "train", group_id=str(round))
    arrays = {"w": np.array(values, dtype=np.float32), "batches": np.array(node)}
    metrics = {"num-examples": size, "train-loss": node / 10, **more.pop("metrics", {})}
    return Message(Trained(arrays, metrics, **more).pack(), reply_to=asked)


def received(replies: list[Message], enough: int = 3, limit: float = 0.0, **more: Any) -> Round:
    came = Round(4, dict(NODES), enough)
    groups: dict[ClientId, dict[str, Layout]] = {client: {} for client in NODES.values()}
    came.receive(replies, MODEL, more.get("uploads", ()), groups, limit, 9.0)
    return came


def test_the_cohort_is_in_the_order_of_clients_whatever_came_first() -> None:
    came = received([reply(11, 1, 0, size=5), reply(13, 3, 4, size=6), reply(12, 2, 2, size=7)])
    cohort = came.cohort(SimpleNamespace(population=Population({3: 6}), answers={3: {"a": 1.0}}), MODEL.state.omega)  # type: ignore[arg-type]
    assert cohort.ids == [3, 7, "b"] and cohort.round == 4
    assert cohort.sizes.tolist() == [6, 7, 5] and cohort.metrics["train-loss"].tolist() == [1.3, 1.2, 1.1]
    assert np.asarray(cohort.updates).tolist() == [[2, 2], [1, 0], [0, -2]]  # less (1, 2)
    assert cohort.sent is MODEL.state.omega and cohort.answers == {3: {"a": 1.0}}
    assert [reply.buffers["batches"].item() for reply in came.usable] == [13, 12, 11]
    assert all(reply.vector.size == 0 for reply in came.usable)  # kept as rows, not twice
    assert came.refused == {} and came.rows == {}


def test_extra_vectors_follow_their_clients_and_a_missing_one_is_refused() -> None:
    extra = [{"delta_c": np.array([node, -node], dtype=np.float32)} for node in (11, 12)]
    came = received(
        [reply(12, 0, 0, extra=extra[1]), reply(11, 0, 0, extra=extra[0]), reply(13, 0, 0)], uploads=("delta_c",)
    )
    cohort = came.cohort(SimpleNamespace(population=Population({}), answers={}), MODEL.state.omega)  # type: ignore[arg-type]
    assert cohort.ids == [7, "b"] and np.asarray(cohort.extras["delta_c"]).tolist() == [[12, -12], [11, -11]]
    assert came.dropped == [{"id": 3, "reason": "it has no ArrayRecord 'extra'"}]


def test_only_numbers_that_everybody_sent_are_the_cohorts() -> None:
    came = received([reply(11, 0, 0, metrics={"own": 1.0}), reply(12, 0, 0)])
    cohort = came.cohort(SimpleNamespace(population=Population({}), answers={}), MODEL.state.omega)  # type: ignore[arg-type]
    assert sorted(cohort.metrics) == ["num-examples", "train-loss"]


def test_who_did_not_answer_is_told_whether_others_were_faster_or_time_was_up() -> None:
    assert received([reply(11, 0, 0)], enough=1).refused == {
        7: "enough others were faster",
        3: "enough others were faster",
    }
    assert received([reply(11, 0, 0)]).refused == {7: "no reply within 9 s", 3: "no reply within 9 s"}


def test_another_round_a_stranger_and_a_second_answer_do_not_count(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "fedloom"):
        came = received([reply(11, 0, 0, round=3), reply(99, 5, 5), reply(12, 1, 1), reply(12, 9, 9)])
    assert [one.client for one in came.usable] == [7]
    assert came.refused["b"] == "it answers round 3, not round 4"
    assert "a reply from a client that was not asked" in caplog.text
    assert "a reply from client 7, which has answered" in caplog.text
    cohort = came.cohort(SimpleNamespace(population=Population({}), answers={}), MODEL.state.omega)  # type: ignore[arg-type]
    assert np.asarray(cohort.updates).tolist() == [[0, -1]]


def test_a_long_update_is_scaled_to_the_limit_and_a_short_one_left_alone() -> None:
    omega = np.array([1.0, 2.0], dtype=np.float32)
    long = ClientReply(3, np.array([4.0, 6.0], dtype=np.float32), {}, {})  # (3, 4), of length 5
    assert limit_update(long, omega, 2.5)
    assert long.vector.tolist() == [2.5, 4.0] and long.vector.dtype == np.float32
    short = ClientReply(3, vector := np.array([4.0, 6.0], dtype=np.float32), {}, {})
    assert not limit_update(short, omega, 5.0) and short.vector is vector
    came = received([reply(11, 4, 6), reply(12, 1, 2.5)], limit=2.5)
    assert came.clipped == ["b"]
    cohort = came.cohort(SimpleNamespace(population=Population({}), answers={}), omega)  # type: ignore[arg-type]
    assert np.asarray(cohort.updates).tolist() == [[0, 0.5], [1.5, 2.0]]
