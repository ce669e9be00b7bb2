"""What goes out in a round: to whom, with which model, settings and numbers, and until when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message

from clients import LocalSettings
from fl_protocol import codec
from fl_protocol.messages import read_message
from fl_strategies.population.tally import Tally
from fl_strategies.sampling import sample_cohort, spare_clients
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLIENTS, app, initial

LOCAL = LocalSettings(lr=0.5, epochs=3, batch_size=4, seed=2)


def begun(strategy: str = "fedavg", **more: Any) -> tuple[ComposedStrategy, InlineGrid]:
    """A strategy that has met its clients, and has sent round 1."""
    made = ComposedStrategy(strategy, local=LOCAL, min_clients=CLIENTS, **more)
    grid = InlineGrid(app(), CLIENTS, {})
    list(made.configure_train(1, initial(), ConfigRecord(), grid))
    return made, grid


def training(made: ComposedStrategy, round: int, saved: Any = None, **config: Any) -> tuple[Any, list[Message]]:
    state = made.state
    assert state is not None
    return made.orders.training(round, made.model.hand_out(), config, state, saved or {})


def order_of(message: Message, kind: str = "train") -> Any:
    return read_message(message.content, kind, LocalSettings(lr=99.0))


def test_every_client_of_the_cohort_gets_one_message_in_order() -> None:
    made, _ = begun("fedprox", parts={"prox.mu": 0.25}, lr_decay=0.5, round_timeout=77.0)
    going, messages = training(made, 3)
    nodes = [message.metadata.dst_node_id for message in messages]
    assert [going.sent[node] for node in nodes] == [0, 1, 2, 3, 4]
    assert (going.number, going.enough, going.usable) == (3, CLIENTS, [])
    for message in messages:
        assert message.metadata.ttl == 77.0 and message.metadata.group_id == "3"
        order = order_of(message)
        assert order.objectives == [("prox", {"mu": 0.25})] and order.optimizer == ("sgd", {})
        assert order.topology == ("shared", {}) and order.round == 3 and order.setup == made.members.setup
        assert (order.settings.lr, order.settings.initial_lr) == (0.125, 0.5)  # halved twice
        assert (order.settings.epochs, order.settings.batch_size, order.settings.seed) == (3, 4, 2)


def test_the_numbers_of_a_client_are_its_own() -> None:
    made, _ = begun("feddyn")
    assert made.state is not None
    made.state.acked = Tally({1: 6, 4: 5})
    _, messages = training(made, 7, {1: 4})
    orders = [order_of(message) for message in messages]
    assert [order.acked_round for order in orders] == [0, 6, 0, 0, 5]
    assert [order.saved_round for order in orders] == [0, 4, 0, 0, 0]
    assert [order.scalars["q"] for order in orders] == [6 / 12, 9 / 12, 1.0, 15 / 12, 18 / 12]  # sizes 6 to 18


def test_what_the_method_broadcasts_and_asks_for_goes_to_everybody() -> None:
    made, _ = begun("scaffold+afl")
    assert made.state is not None
    made.state.parts["scaffold"] = {"c": np.arange(15.0)}
    _, messages = training(made, 2)
    for order in map(order_of, messages):
        assert order.extra["c"].numpy().tolist() == list(range(15)) and order.report == ["initial_loss"]


def test_spares_are_asked_too_and_the_cohorts_number_is_enough() -> None:
    made, _ = begun(fraction_train=0.4, over_sample=0.5, seed=3)
    going, messages = training(made, 5)
    chosen = sample_cohort(range(CLIENTS), 0.4, 3, 5)
    spare = spare_clients(range(CLIENTS), chosen, 0.5, 3, 5)
    assert len(chosen) == 2 and len(spare) == 1
    assert list(going.sent.values()) == sorted([*chosen, *spare]) and going.enough == 2 and len(messages) == 3


def test_flowers_configuration_overrides_the_settings_and_what_nothing_reads_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = begun()
    monkeypatch.setattr(codec, "_told", set())
    with caplog.at_level("WARNING", "fedloom"):
        for round in (1, 2):
            _, messages = training(made, round, **{"lr": 0.01, "epoch": 9})
    settings = order_of(messages[0]).settings
    assert (settings.lr, settings.epochs) == (0.01, 3)
    assert (
        caplog.text.count("The train_config has the key 'epoch', which nothing here reads; did you mean 'epochs'?") == 1
    )


def test_a_learning_rate_of_flowers_configuration_leaves_the_undecayed_one_alone() -> None:
    """FedDC and FedSSG divide by eta_0, and the server's half counts with its own."""
    made, _ = begun("feddc")
    for content in (
        training(made, 2, lr=0.01)[1][0],
        made.orders.evaluation(2, initial(), {"lr": 0.01}, made.model.state)[0],
    ):
        settings = order_of(content).settings
        assert (settings.lr, settings.initial_lr) == (0.01, 0.5)
    assert order_of(training(made, 2, **{"initial-lr": 0.2})[1][0]).settings.initial_lr == 0.2


def test_scores_are_asked_of_everybody_with_the_model_that_is_theirs() -> None:
    made, _ = begun("fedper", personal_epochs=2, fraction_train=0.2)
    state = made.state
    assert state is not None
    state.acked = Tally({2: 1})
    messages = made.orders.evaluation(4, made.model.hand_out(), {"lr": 0.3}, state)
    orders = [order_of(message, "evaluate") for message in messages]
    assert [order.acked_round for order in orders] == [0, 0, 1, 0, 0]
    assert [len(order.arrays) for order in orders] == [2, 2, 0, 2, 2]  # a linear model is all head: 2 keeps its own
    for message, order in zip(messages, orders, strict=True):
        assert message.metadata.message_type == "evaluate" and message.metadata.group_id == "4"
        assert (order.topology, order.personal_epochs, order.round, order.settings.lr) == (("per", {}), 2, 4, 0.3)


def test_a_measurement_is_asked_for_without_any_arrays() -> None:
    made, _ = begun(lr_decay=0.5)
    messages = made.orders.probes([3, 1])
    assert [message.metadata.dst_node_id for message in messages] == [made.members.node(3), made.members.node(1)]
    for message in messages:
        assert not message.content.array_records and message.metadata.group_id == "0"
        order = order_of(message)
        assert type(order).__name__ == "Probe" and order.settings == LOCAL.__class__(
            lr=0.5, initial_lr=0.5, epochs=3, batch_size=4, seed=2
        )


def test_scores_are_due_every_so_many_rounds_and_after_the_last() -> None:
    made, _ = begun(eval_every=3)
    made.orders.rounds = 7
    assert [round for round in range(1, 8) if made.orders.scores_in(round)] == [3, 6, 7]
    settings = made.orders.settings(4)
    assert (settings.round, settings.rounds, settings.fraction, settings.epochs) == (4, 7, 1.0, 3)
    assert isinstance(made.model.hand_out(), ArrayRecord)
