"""Where Flower takes hold of a strategy: its wrappers around ours, and subclasses that override one of the four methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import fixedclipping_mod
from flwr.serverapp import Grid
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
)

from fl_config.errors import ConfigError
from fl_protocol.arrays import from_record, to_record
from fl_strategies import ComposedStrategy, FedAvg, FedDisco, FedSSG  # type: ignore[attr-defined]
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLIENTS, LOCAL, Records, app, initial

HUGE = 1e6


def common(**more: Any) -> dict[str, Any]:
    return {"local": LOCAL, "min_clients": CLIENTS, **more}


def grid(client_app: ClientApp | None = None) -> InlineGrid:
    return InlineGrid(client_app or app(), CLIENTS, {})


def vector(arrays: ArrayRecord) -> np.ndarray:
    return np.concatenate([value.reshape(-1) for value in from_record(arrays).values()])


def heard(seen: list[tuple[int, np.ndarray]]) -> ClientApp:
    """Clients that write down the round and the model of every training message."""
    made, theirs = ClientApp(), app()

    def answer(message: Message, context: Context) -> Message:
        if message.metadata.message_type == MessageType.TRAIN:
            round = int(message.content.config_records["config"]["server-round"])  # type: ignore[arg-type]
            seen.append((round, vector(message.content.array_records["arrays"])))
        return theirs(message, context)

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


# Flower's wrappers


def test_fixed_clipping_without_noise_and_without_a_limit_is_the_strategy_itself() -> None:
    alone = FedDisco(**common()).start(grid(), initial(), 2)
    wrapped = DifferentialPrivacyServerSideFixedClipping(FedDisco(**common()), 0.0, HUGE, CLIENTS)
    result = wrapped.start(grid(), initial(), 2)
    np.testing.assert_allclose(vector(result.arrays), vector(alone.arrays), rtol=0, atol=1e-6)
    assert np.abs(vector(alone.arrays)).max() > 0.01
    assert set(result.train_metrics_clientapp) == {1, 2}
    for round, metrics in alone.train_metrics_clientapp.items():
        told = result.train_metrics_clientapp[round]
        assert told["disco/effective_clients"] == metrics["disco/effective_clients"]
        assert told["train-loss"] == pytest.approx(metrics["train-loss"], abs=1e-6)


def test_fixed_clipping_limits_every_update_and_the_next_round_starts_from_the_noisy_model() -> None:
    seen: list[tuple[int, np.ndarray]] = []
    clipped = DifferentialPrivacyServerSideFixedClipping(FedDisco(**common()), 0.0, 0.01, CLIENTS)
    first = vector(clipped.start(grid(), initial(), 1).arrays)
    assert 0 < np.linalg.norm(first) <= 0.01 + 1e-6
    noisy = DifferentialPrivacyServerSideFixedClipping(FedDisco(**common()), 5.0, 1.0, CLIENTS)
    scores: dict[int, np.ndarray] = {}
    noisy.start(
        grid(heard(seen)), initial(), 2, evaluate_fn=lambda round, arrays: scores.update({round: vector(arrays)})
    )
    sent = [model for round, model in seen if round == 2]
    assert len(sent) == CLIENTS and np.abs(scores[1]).max() > 0.1  # noise of 5 * 1 / 5 on every number
    for model in sent:
        np.testing.assert_array_equal(model, scores[1])


def test_adaptive_clipping_around_disco_runs_and_adapts() -> None:
    alone = FedDisco(**common()).start(grid(), initial(), 2)
    loose = DifferentialPrivacyServerSideAdaptiveClipping(
        FedDisco(**common()), 0.0, CLIENTS, initial_clipping_norm=HUGE, clipped_count_stddev=0.0
    )
    result = loose.start(grid(), initial(), 2)
    np.testing.assert_allclose(vector(result.arrays), vector(alone.arrays), rtol=0, atol=1e-6)
    assert loose.clipping_norm != HUGE
    tight = DifferentialPrivacyServerSideAdaptiveClipping(
        FedDisco(**common()), 0.0, CLIENTS, initial_clipping_norm=0.01, clipped_count_stddev=0.0
    )
    assert np.linalg.norm(vector(tight.start(grid(), initial(), 1).arrays)) <= 0.01 + 1e-6


def test_a_wrapper_may_speak_to_the_clients_mods() -> None:
    """Client-side clipping: the wrapper puts the norm into the configuration, and Flower's mod on the client reads it there."""
    made, theirs = ClientApp(), app()
    made.train(mods=[fixedclipping_mod])(theirs)
    made.query()(theirs)
    wrapped = DifferentialPrivacyClientSideFixedClipping(FedAvg(**common()), 0.0, 0.01, CLIENTS)
    result = wrapped.start(grid(made), initial(), 1)
    assert result.arrays is not None
    assert 0 < np.linalg.norm(vector(result.arrays)) <= 0.01 + 1e-6


def test_a_method_that_must_know_the_number_of_rounds_says_so_inside_a_wrapper() -> None:
    wrapped = DifferentialPrivacyServerSideFixedClipping(FedSSG(**common()), 0.0, HUGE, CLIENTS)
    with pytest.raises(
        ConfigError,
        match="'ssg' must know how many rounds there will be, which a wrapper does not say: give the strategy num_rounds",
    ):
        wrapped.start(grid(), initial(), 2)


def test_with_the_number_of_rounds_it_runs_and_is_the_run_without_a_wrapper() -> None:
    """The variant without extra vectors, whose replies are one record of arrays: that is all that Flower's clipping can take."""
    variant = {"variant": "main", "gate": "horizon"}

    def wrapped(rounds: int) -> np.ndarray:
        made = FedSSG(**variant, **common(num_rounds=rounds))
        return vector(
            DifferentialPrivacyServerSideFixedClipping(made, 0.0, HUGE, CLIENTS).start(grid(), initial(), 2).arrays
        )

    alone = vector(FedSSG(**variant, **common()).start(grid(), initial(), 2).arrays)
    np.testing.assert_allclose(wrapped(2), alone, rtol=0, atol=1e-6)
    assert np.abs(wrapped(4) - alone).max() > 1e-3  # the gate counts against the horizon


# Subclasses


class Halving(FedAvg):  # type: ignore[misc,valid-type]
    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        arrays, metrics = super().aggregate_train(server_round, replies)
        return to_record({name: value / 2 for name, value in from_record(arrays).items()}), metrics


def test_a_subclass_that_changes_the_model_is_heard() -> None:
    seen: list[tuple[int, np.ndarray]] = []
    scores: dict[int, np.ndarray] = {}
    result = Halving(**common()).start(
        grid(heard(seen)), initial(), 2, evaluate_fn=lambda round, arrays: scores.update({round: vector(arrays)})
    )
    plain = FedAvg(**common()).start(grid(), initial(), 1)
    np.testing.assert_array_equal(scores[1], vector(plain.arrays) / 2)
    for model in (model for round, model in seen if round == 2):
        np.testing.assert_array_equal(model, scores[1])
    np.testing.assert_array_equal(vector(result.arrays), scores[2])


class Refusing(ComposedStrategy):
    """Keeps the old model after round 2, whatever came."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        arrays, metrics = super().aggregate_train(server_round, replies)
        return (None if server_round == 2 else arrays), metrics


def test_a_subclass_that_refuses_a_model_is_heard() -> None:
    """What is scored and served is what the next round starts from, as with Flower's own loop."""
    seen: list[tuple[int, np.ndarray]] = []
    scores: dict[int, np.ndarray] = {}
    made = Refusing("fedavg", **common())
    made.start(
        grid(heard(seen)), initial(), 3, evaluate_fn=lambda round, arrays: scores.update({round: vector(arrays)})
    )
    for model in (model for round, model in seen if round == 3):
        np.testing.assert_array_equal(model, scores[1])
    np.testing.assert_array_equal(scores[2], scores[1])
    assert (scores[3] != scores[1]).any()


class WithoutTheThird(ComposedStrategy):
    """Client 2 is never asked."""

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        messages = super().configure_train(server_round, arrays, config, grid)
        return [one for one in messages if self.members.client(one.metadata.dst_node_id) != 2]


def test_a_subclass_that_leaves_a_client_out_is_heard() -> None:
    seen: list[tuple[int, np.ndarray]] = []
    records = Records()
    made = WithoutTheThird("fedavg", **common(observers=[records]))
    result = made.start(grid(heard(seen)), initial(), 2)
    assert len(seen) == 2 * (CLIENTS - 1)
    assert [line["cohort"] for line in records.lines[1:]] == [[0, 1, 3, 4]] * 2
    assert [len(line["weights"]) for line in records.lines[1:]] == [4, 4]
    assert (vector(result.arrays) != vector(FedAvg(**common()).start(grid(), initial(), 2).arrays)).any()


def test_who_was_never_asked_is_not_said_to_be_silent() -> None:
    records = Records()
    WithoutTheThird("fedavg", **common(observers=[records])).start(grid(), initial(), 1)
    assert "no reply within" not in str(records.lines[1]["dropped"])


def test_a_subclass_that_scores_otherwise_is_heard() -> None:
    class Counting(ComposedStrategy):
        def configure_evaluate(
            self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
        ) -> Iterable[Message]:
            return list(super().configure_evaluate(server_round, arrays, config, grid))[:2]

        def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
            return MetricRecord({"replies": len(list(replies))})

    result = Counting("fedavg", personal_epochs=1, **common()).start(grid(), initial(), 2)
    assert {round: metrics["replies"] for round, metrics in result.evaluate_metrics_clientapp.items()} == {1: 2, 2: 2}
