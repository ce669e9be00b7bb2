"""The model of Flower's quickstart-pytorch trains through LocalClient, under Flower's own FedAvg and under our FedDisco."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, Strategy

from clients import LocalClient, LocalSettings
from fl_config.seeds import seeded
from fl_protocol.arrays import from_record
from fl_strategies import FedDisco  # type: ignore[attr-defined]
from simulation.engines.inline import InlineGrid
from tests.fl_models.architectures.foreign_modules import Quickstart
from tests.fl_strategies.linear_federation import Records

CLIENTS, ROUNDS = 3, 3


def share(client: int) -> tuple[np.ndarray, np.ndarray]:
    """Random images of ten classes that differ in brightness, in another mix for every client."""
    random = np.random.default_rng(client)
    y = random.integers(0, 10 if client else 4, size=60)
    x = random.normal(0, 0.3, (60, 3, 32, 32)) + (y[:, None, None, None] - 4.5) / 3
    return x.astype(np.float32), y


def app() -> ClientApp:
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        x, y = share(number)
        client = LocalClient.on_arrays(
            Quickstart(),
            x[:50],
            y[:50],
            client_id=number,
            num_classes=10,
            held_out=(x[50:], y[50:]),
            state=context.state,
        )
        return client.answer(message)

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


def initial() -> ArrayRecord:
    with seeded(0, "quickstart"):
        return ArrayRecord(Quickstart().state_dict())


def loss(arrays: ArrayRecord) -> float:
    model = Quickstart()
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in from_record(arrays).items()})
    x, y = (np.concatenate(parts) for parts in zip(*map(share, range(CLIENTS)), strict=True))
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y)))


def check_trained(strategy: Strategy, train_config: ConfigRecord | None = None) -> Any:
    start = initial()
    grid = InlineGrid(app(), CLIENTS, {})
    result = strategy.start(grid, start, ROUNDS, train_config=train_config)
    before, after = from_record(start), from_record(result.arrays)
    assert before.keys() == after.keys()
    assert all(not np.array_equal(before[name], after[name]) for name in before)
    assert loss(result.arrays) < loss(start) - 0.01
    return result


def test_flowers_own_fedavg() -> None:
    answered: list[int] = []

    class Counting(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            good = [reply for reply in replies if not reply.has_error()]
            answered.append(len(good))
            return super().aggregate_train(server_round, good)

    told = ConfigRecord({"lr": 0.1, "batch-size": 25})
    result = check_trained(Counting(min_train_nodes=CLIENTS, min_available_nodes=CLIENTS), told)
    assert answered == [CLIENTS] * ROUNDS
    assert set(result.train_metrics_clientapp) == set(result.evaluate_metrics_clientapp) == {1, 2, 3}


def test_feddisco() -> None:
    records = Records()
    local = LocalSettings(lr=0.1, batch_size=25)
    result = check_trained(FedDisco(local=local, min_clients=CLIENTS, observers=[records]))
    assert records.left_out == [] and all(line["cohort"] == [0, 1, 2] for line in records.lines if line["round"])
    weights = records.lines[-1]["weights"]
    assert weights[0] < min(weights[1:]) and sum(weights) == pytest.approx(1)  # client 0 has four classes of ten
    assert result.train_metrics_clientapp[3]["train-loss"] < result.train_metrics_clientapp[1]["train-loss"]
