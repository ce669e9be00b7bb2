"""The strategy against misbehaving clients: rounds go on, and the state of a lost reply rolls back."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, MetricRecord
from flwr.serverapp.strategy import Strategy

from clients import LocalSettings
from fl_config.errors import ConfigError
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import (
    CLASSES,
    CLIENTS,
    DATA,
    FEATURES,
    Records,
    app,
    initial,
    start,
    with_arrays,
)


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
    np.testing.assert_allclose(made.state.of("dyn")["H"], total, atol=1e-5)


def test_fewer_replies_than_needed_leave_the_model_alone() -> None:
    def misbehave(number: int, round: int, reply: Message) -> None:
        if round == 1 and number:
            raise RuntimeError("away")

    made, records, _ = start(misbehave=misbehave, rounds=1, min_replies=2)
    assert made.state is not None
    assert not made.state.omega.any()
    assert records.lines[1]["cohort"] == []
    assert len(records.lines[1]["dropped"]) == 4


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
    """One full-batch step per client: the average is weighted by size."""
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
