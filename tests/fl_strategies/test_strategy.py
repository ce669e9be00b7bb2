"""The strategy against misbehaving clients: rounds go on, the culprits are named, their state rolls back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MessageType, MetricRecord
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import Strategy
from torch import nn

from clients import LocalClient, LocalSettings
from clients.client import ARRAYS, EXTRA, METRICS
from fl_config.errors import ConfigError
from fl_strategies.round.exchange import RunStopped
from fl_strategies.round.records import Observer, Record
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid

CLIENTS, FEATURES, CLASSES = 5, 4, 3
RNG = np.random.default_rng(0)
DATA = [(RNG.normal(size=(n, FEATURES)).astype(np.float32), np.arange(n) % CLASSES) for n in (6, 9, 12, 15, 18)]


class Records(Observer):
    def __init__(self) -> None:
        self.lines: list[Record] = []
        self.left_out: list[tuple[int, Any, str]] = []

    def recorded(self, record: Record) -> None:
        self.lines.append(record)

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self.left_out.append((round, client, reason))


def app(misbehave: Any = None) -> ClientApp:
    """Somebody's ClientApp: a LocalClient on arrays, and something wrong with its replies."""
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        x, y = DATA[number]
        one = LocalClient.on_arrays(
            nn.Linear(FEATURES, CLASSES), x, y, client_id=number, num_classes=CLASSES, state=context.state
        )
        reply = one.answer(message)
        if misbehave and message.metadata.message_type == MessageType.TRAIN:
            config = message.content["config"]
            return misbehave(number, int(config["server-round"]), reply) or reply  # type: ignore[index,arg-type,call-overload]
        return reply

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


def initial() -> ArrayRecord:
    return ArrayRecord(
        {
            "weight": Array(np.zeros((CLASSES, FEATURES), dtype=np.float32)),
            "bias": Array(np.zeros(CLASSES, dtype=np.float32)),
        }
    )


def start(
    strategy: str = "fedavg", misbehave: Any = None, rounds: int = 3, **more: Any
) -> tuple[ComposedStrategy, Records, Any]:
    records = Records()
    made = ComposedStrategy(
        strategy, local=LocalSettings(lr=0.2, batch_size=4), observers=[records], min_clients=CLIENTS, **more
    )
    grid = InlineGrid(app(misbehave), CLIENTS, {})
    result = made.start(grid, initial(), rounds)
    return made, records, result


def with_arrays(reply: Message, **changes: np.ndarray) -> None:
    for name, value in changes.items():
        reply.content[ARRAYS][name] = Array(value)  # type: ignore[index]


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


@pytest.mark.parametrize("strategy", ["feddyn", "scaffold", "feddc", "fedssg", "fedvra", "fedspeed", "moon"])
def test_state_of_a_lost_reply_rolls_back_and_the_sums_agree(strategy: str) -> None:
    """A reply that the server refused must leave no trace: the run equals one in which that client was not there in that round."""

    def lost(number: int, round: int, reply: Message) -> None:
        if number == 2 and round == 2:
            with_arrays(reply, bias=np.full(CLASSES, np.nan, dtype=np.float32))

    def absent(number: int, round: int, reply: Message) -> None:
        if number == 2 and round == 2:
            raise RuntimeError("away")

    one, first, _ = start(strategy, lost, rounds=4)
    other, second, _ = start(strategy, absent, rounds=4)
    assert first.lines[2]["cohort"] == second.lines[2]["cohort"] == [0, 1, 3, 4]
    assert first.lines[3]["cohort"] == [0, 1, 2, 3, 4]
    assert one.state is not None and other.state is not None
    assert one.state.omega.tobytes() == other.state.omega.tobytes()
    assert one.state.acked == {0: 4, 1: 4, 2: 4, 3: 4, 4: 4}


def test_the_servers_sum_of_memories_is_the_sum_of_the_clients() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if (number + round) % 4 == 0:
            raise RuntimeError("away")

    records = Records()
    made = ComposedStrategy(
        "feddyn", local=LocalSettings(lr=0.2, batch_size=4), observers=[records], min_clients=CLIENTS
    )
    grid = InlineGrid(app(misbehave), CLIENTS, {})
    made.start(grid, initial(), 6)
    assert made.state is not None
    total = np.zeros(CLASSES * FEATURES + CLASSES)
    for context in grid.contexts.values():
        client = int(context.node_config["partition-id"])
        acked = made.state.acked.get(client, 0)
        record = context.state.array_records.get(f"fedloom.{acked}")
        if record is not None:
            total += record["h"].numpy()
    np.testing.assert_allclose(made.state.steps["dyn"]["H"], total, atol=1e-5)


def test_fewer_replies_than_needed_leave_the_model_alone() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if round == 1 and number:
            raise RuntimeError("away")

    made, records, _ = start(misbehave=misbehave, rounds=1, min_replies=2)
    assert made.state is not None
    assert not made.state.omega.any()
    assert records.lines[1]["cohort"] == []
    assert len(records.lines[1]["dropped"]) == 4


def test_a_missing_upload_is_refused() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if number == 1:
            del reply.content[EXTRA]
        if number == 3:
            reply.content[EXTRA]["delta_c"] = Array(np.zeros(2, dtype=np.float32))  # type: ignore[index]

    _, records, _ = start("scaffold", misbehave, rounds=1)
    assert [each["id"] for each in records.lines[1]["dropped"]] == [1, 3]


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


def test_too_few_clients_and_clients_with_another_model_are_sentences() -> None:
    with pytest.raises(ConfigError, match="9 clients are needed, but only 5"):
        ComposedStrategy("fedavg", min_clients=9, wait=0.2).start(InlineGrid(app(), CLIENTS, {}), initial(), 1)
    other = ArrayRecord({"weight": Array(np.zeros((CLASSES, FEATURES), dtype=np.float32))})
    with pytest.raises(ConfigError, match="'bias'"):
        ComposedStrategy("fedavg").start(InlineGrid(app(), CLIENTS, {}), other, 1)
    with pytest.raises(ConfigError, match="fraction_train"):
        ComposedStrategy("fedavg", fraction_train=0.0)
    with pytest.raises(ConfigError, match="'ssa'"):
        ComposedStrategy("fedssa")


def test_it_is_a_flower_strategy_and_flowers_result_is_filled() -> None:
    seen: list[int] = []

    def evaluate(round: int, arrays: ArrayRecord) -> MetricRecord:
        seen.append(round)
        return MetricRecord({"accuracy": 0.5})

    made = ComposedStrategy("fedavg", min_clients=CLIENTS, eval_every=2)
    assert isinstance(made, Strategy)
    result = made.start(InlineGrid(app(), CLIENTS, {}), initial(), 3, evaluate_fn=evaluate)
    assert seen == [0, 2, 3]
    assert set(result.train_metrics_clientapp) == {1, 2, 3}
    assert set(result.evaluate_metrics_serverapp) == {0, 2, 3}
    assert set(result.arrays) == {"weight", "bias"}


def test_fedavg_by_hand() -> None:
    """One full-batch step a client: the average is weighted by size."""
    made = ComposedStrategy("fedavg", local=LocalSettings(lr=0.5, batch_size=0), min_clients=CLIENTS)
    made.start(InlineGrid(app(), CLIENTS, {}), initial(), 1)
    expected = np.zeros((CLASSES, FEATURES + 1))
    total = sum(len(y) for _, y in DATA)
    for x, y in DATA:
        features = np.hstack([x, np.ones((len(x), 1))]).astype(np.float64)
        probabilities = np.full((len(x), CLASSES), 1 / CLASSES)
        gradient = (probabilities - np.eye(CLASSES)[y]).T @ features / len(x)
        expected -= 0.5 * gradient * len(x) / total
    assert made.state is not None
    np.testing.assert_allclose(
        made.state.omega[: CLASSES * FEATURES].reshape(CLASSES, FEATURES), expected[:, :-1], atol=1e-6
    )
    np.testing.assert_allclose(made.state.omega[CLASSES * FEATURES :], expected[:, -1], atol=1e-6)
