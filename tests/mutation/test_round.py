"""Rounds that ordinary clients never make: replies with odd numbers, models with running statistics, nodes that come back better."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, Context, Message, MessageType
from flwr.clientapp import ClientApp
from torch import nn

from clients import LocalClient, LocalSettings
from fl_config.errors import ConfigError
from fl_strategies.round.records import Observer, Record
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid

CLIENTS, FEATURES, CLASSES = 5, 4, 3
RNG = np.random.default_rng(7)
DATA = [(RNG.normal(size=(n, FEATURES)).astype(np.float32), np.arange(n) % CLASSES) for n in (6, 9, 12, 15, 18)]
LOCAL = LocalSettings(lr=0.2, batch_size=6)  # no batch of one sample, which BatchNorm cannot take
Spoil = Callable[[int, Message], None]


class Records(Observer):
    def __init__(self) -> None:
        self.lines: list[Record] = []

    def recorded(self, record: Record) -> None:
        self.lines.append(record)


def linear() -> nn.Module:
    torch.manual_seed(3)
    return nn.Linear(FEATURES, CLASSES)


def normed() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(FEATURES, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, CLASSES))


def app(
    spoil: Spoil | None = None,
    model: Callable[[], nn.Module] = linear,
    name: Callable[[int], int | str] = lambda number: number,
) -> ClientApp:
    """A client per partition, whose training replies `spoil` changes, and which `name` names."""
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        one = LocalClient.on_arrays(
            model(), *DATA[number], client_id=name(number), num_classes=CLASSES, state=context.state
        )
        reply = one.answer(message)
        if spoil and message.metadata.message_type == MessageType.TRAIN:
            spoil(number, reply)
        return reply

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


def arrays_of(model: nn.Module) -> ArrayRecord:
    return ArrayRecord({name: Array(value.numpy()) for name, value in model.state_dict().items()})


def start(
    grid: InlineGrid,
    strategy: str = "fedavg",
    rounds: int = 1,
    model: Callable[[], nn.Module] = linear,
    flower: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[ComposedStrategy, list[Record], Any]:
    records = Records()
    options = {"local": LOCAL, "min_clients": CLIENTS, "observers": [records], **more}
    made = ComposedStrategy(strategy, **options)
    result = made.start(grid, arrays_of(model()), rounds, **(flower or {}))
    return made, records.lines, result


def metrics_of(reply: Message) -> Any:
    return next(iter(reply.content.metric_records.values()))


def no_size(number: int, reply: Message) -> None:
    if number == 2:
        del metrics_of(reply)["num-examples"]


def odd_size(number: int, reply: Message) -> None:
    if number == 2:
        metrics_of(reply)["num-examples"] = float("inf")


def odd_loss(number: int, reply: Message) -> None:
    if number == 2:
        metrics_of(reply)["train-loss"] = float("nan")


def talkative(number: int, reply: Message) -> None:
    if number == 2:
        raise RuntimeError("x" * 1000)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (no_size, "it reports no training examples"),
        (odd_size, "its metric 'num-examples' is not finite"),
        (odd_loss, "its metric 'train-loss' is not finite"),
        (talkative, "the client failed: RuntimeError: " + "x" * 286),  # an exception's line is cut to 300 characters
    ],
)
def test_a_reply_with_odd_numbers_is_left_out(spoil: Spoil, reason: str) -> None:
    _, lines, _ = start(InlineGrid(app(spoil), CLIENTS, {}))
    assert lines[1]["cohort"] == [0, 1, 3, 4]
    assert lines[1]["dropped"] == [{"id": 2, "reason": reason}]
    assert np.isfinite(lines[1]["train/loss"])


def test_running_statistics_are_averaged_by_weight_and_counters_by_their_maximum() -> None:
    _, lines, result = start(
        InlineGrid(app(model=normed), CLIENTS, {}), model=normed, local=replace(LOCAL, batch_size=0)
    )
    weight, bias = (value.detach().numpy() for value in normed()[0].parameters())  # type: ignore[index]
    means = [0.1 * (x @ weight.T + bias).mean(axis=0) for x, _ in DATA]  # BatchNorm's momentum, from zero on
    expected = np.average(means, axis=0, weights=[len(y) for _, y in DATA])
    np.testing.assert_allclose(result.arrays["1.running_mean"].numpy(), expected, atol=1e-6)
    assert result.arrays["1.num_batches_tracked"].numpy() == 1
    assert lines[1]["weights"] == pytest.approx([len(y) / 60 for _, y in DATA])


def test_the_next_round_begins_with_the_averaged_statistics() -> None:
    _, _, result = start(InlineGrid(app(model=normed), CLIENTS, {}), rounds=3, model=normed)
    assert result.arrays["1.num_batches_tracked"].numpy() == 3 * 3  # 18 samples in batches of 6, three times


def test_the_undecayed_rate_is_the_strategys_own() -> None:
    """FedDC divides by it: left at its default by the user, it must be the rate that the user gave."""
    models = []
    for local in (LOCAL, replace(LOCAL, initial_lr=0.2)):
        made, _, _ = start(InlineGrid(app(), CLIENTS, {}), "feddc", rounds=3, local=local, lr_decay=0.5)
        assert made.state is not None
        models.append(made.state.omega.tobytes())
    assert models[0] == models[1]


def test_flowers_timeout_ends_a_round_too() -> None:
    class Silent(InlineGrid):
        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            waiting = [self.waiting[known].metadata.message_type for known in message_ids if known in self.waiting]
            return [] if MessageType.TRAIN in waiting else super().pull_messages(message_ids)

    began = time.monotonic()
    _, lines, _ = start(Silent(app(), CLIENTS, {}), flower={"timeout": 0.3}, round_timeout=30)
    assert time.monotonic() - began < 20
    assert all("no reply within 0.3 s" in each["reason"] for each in lines[1]["dropped"])


def test_a_refused_node_that_went_away_may_come_back_better() -> None:
    class Repaired(InlineGrid):
        """The last node fails its query, is away during round 1, and is there in good health from round 2 on."""

        looks, broken = 0, True

        def get_node_ids(self) -> Iterable[int]:
            self.looks += 1
            everyone = list(super().get_node_ids())
            if self.looks in (3, 4):
                self.broken = False
                return everyone[:-1]
            return everyone

        def _answer(self, message: Message) -> Message:
            if self.broken and message.metadata.dst_node_id == CLIENTS + 1:
                self.client_app, whole = app(name=lambda number: 1 // 0), self.client_app
                reply = super()._answer(message)
                self.client_app = whole
                return reply
            return super()._answer(message)

    _, lines, _ = start(Repaired(app(), CLIENTS, {}), rounds=3, min_clients=CLIENTS - 1)
    assert lines[1]["cohort"] == [0, 1, 2, 3]
    assert lines[3]["cohort"] == [0, 1, 2, 3, 4]


def test_too_few_clients_are_told_with_their_reasons_in_order() -> None:
    def broken(number: int) -> int:
        raise RuntimeError(f"fault {9 - number}")

    with pytest.raises(ConfigError, match="only 0 can take part: .*fault 5; .*fault 6; .*fault 7\\.$"):
        start(InlineGrid(app(name=broken), CLIENTS, {}))


@pytest.mark.parametrize("strategy", ["fedavg", "fedcuau", "scaffold"])
def test_numbered_and_named_clients_in_one_federation(strategy: str) -> None:
    """Numbers come first, then names; nothing compares one with the other."""
    names: list[int | str] = [3, "b", 1, "a", 2]
    grid = InlineGrid(app(name=lambda number: names[number], model=normed), CLIENTS, {})
    _, lines, _ = start(grid, strategy, rounds=2, model=normed, max_update_norm=1e-3, personal_epochs=1)
    assert lines[2]["cohort"] == [1, 2, 3, "a", "b"]
    assert lines[2]["clipped"] == [1, 2, 3, "a", "b"]
    assert lines[2]["personal/client_ids"] == [1, 2, 3, "a", "b"]


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.01, float("nan")])
def test_a_fraction_is_a_share(fraction: float) -> None:
    with pytest.raises(ConfigError, match="fraction_train is a share above 0 and up to 1"):
        ComposedStrategy("fedavg", fraction_train=fraction)


def test_only_this_rounds_clients_can_be_missing() -> None:
    _, lines, _ = start(InlineGrid(app(), CLIENTS, {}), rounds=4, fraction_train=0.4)
    assert len({tuple(line["cohort"]) for line in lines[1:]}) > 1, "every round had the same clients: nothing is tested"
    assert [line["dropped"] for line in lines[1:]] == [[]] * 4


def test_a_round_without_a_single_reply_leaves_the_model_alone() -> None:
    def away(number: int, reply: Message) -> None:
        raise RuntimeError("away")

    _, lines, result = start(InlineGrid(app(away), CLIENTS, {}), rounds=2)
    assert [line["cohort"] for line in lines[1:]] == [[], []]
    assert [len(line["dropped"]) for line in lines[1:]] == [CLIENTS, CLIENTS]
    assert result.arrays["weight"].numpy().tobytes() == linear().weight.detach().numpy().tobytes()  # type: ignore[union-attr,operator]


def test_flowers_result_has_what_clients_say_of_their_own_models() -> None:
    _, lines, result = start(InlineGrid(app(), CLIENTS, {}), rounds=3, personal_epochs=1, eval_every=2)
    assert set(result.evaluate_metrics_clientapp) == {2, 3}
    for round, metrics in result.evaluate_metrics_clientapp.items():
        assert metrics["personal-accuracy"] == pytest.approx(lines[round]["personal/accuracy"])
        assert lines[round]["personal/accuracy"] == pytest.approx(np.mean(lines[round]["personal/client_accuracy"]))


def test_what_a_server_step_says_of_itself_is_recorded() -> None:
    _, lines, _ = start(InlineGrid(app(), CLIENTS, {}), "fedexp", rounds=2)
    assert all(line["exp/step_size"] >= 1 for line in lines[1:])
