"""FedCUAU's server against clients that come late, fail, or answer wrongly, and its averages over replies by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, Context, Message
from flwr.clientapp import ClientApp

from clients import LocalClient, LocalSettings
from fl_config.errors import ConfigError
from fl_models import build
from fl_protocol.codec import kind_of
from fl_protocol.replies import ARRAYS, METRICS
from fl_strategies.round.records import Observer, Record
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid

torch.set_num_threads(1)
CLIENTS = 5
HEAD_1 = "groups:1"  # where the head of cluster 1 travels
RNG = np.random.default_rng(5)
COUNTS = [(12, 12, 12), (12, 12, 12), (15, 12, 9), (28, 4, 4), (36, 0, 0)]  # from even to one class only
DATA = []
for counts in COUNTS:
    labels = np.repeat(np.arange(3), counts)
    DATA.append((RNG.normal(size=(len(labels), 4)).astype(np.float32) + labels[:, None].astype(np.float32), labels))
Spoil = Callable[[int, bool, Message], Message | None]


class Lines(Observer):
    def __init__(self) -> None:
        self.lines: list[Record] = []

    def recorded(self, record: Record) -> None:
        self.lines.append(record)


def app(spoil: Spoil | None = None, seed_of: Callable[[int], int] = lambda number: 3) -> ClientApp:
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        model = build("mlp:6,5", (4,), 3, seed=seed_of(number))
        one = LocalClient.on_arrays(model, *DATA[number], client_id=number, num_classes=3, state=context.state)
        reply = one.answer(message)
        training = message.metadata.message_type == "train"
        return (spoil(number, kind_of(message.content) == "Probe", reply) if spoil and training else None) or reply

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


class LateGrid(InlineGrid):
    """The last client connects only after the others have been looked at twice (registration and round 1)."""

    looks = 0

    def get_node_ids(self) -> Iterable[int]:
        self.looks += 1
        everyone = list(super().get_node_ids())
        return everyone if self.looks > 3 else everyone[:-1]


def start(
    client_app: ClientApp, rounds: int = 2, grid: type[InlineGrid] = InlineGrid, **more: Any
) -> tuple[ComposedStrategy, list[Record]]:
    lines = Lines()
    options = {"local": LocalSettings(lr=0.1, batch_size=8, seed=1), "min_clients": 4, "observers": [lines], **more}
    strategy = ComposedStrategy("fedcuau", **options)
    initial = {name: Array(value.numpy()) for name, value in build("mlp:6,5", (4,), 3, seed=3).state_dict().items()}
    strategy.start(grid(client_app, CLIENTS, {}), ArrayRecord(initial), num_rounds=rounds)
    return strategy, lines.lines


def test_heads_are_averages_over_their_own_clients() -> None:
    replies: dict[int, Message] = {}

    def keep(number: int, probe: bool, reply: Message) -> None:
        if not probe:
            replies[number] = reply

    strategy, lines = start(app(keep), rounds=1)
    places = dict(zip(lines[0]["cuau/client_ids"], lines[0]["cuau/clusters"], strict=True))
    first = [number for number in range(CLIENTS) if places[number] == 1]
    assert len(first) == 3 and {number for number in range(CLIENTS) if HEAD_1 in replies[number].content} == set(first)
    sizes = np.array([len(DATA[number][1]) for number in range(CLIENTS)], dtype=float)
    state = strategy.state
    assert state is not None

    def average(record: str, name: str, clients: list[int]) -> Any:
        arrays = [replies[number].content.array_records[record][name].numpy().reshape(-1) for number in clients]
        return np.average(arrays, axis=0, weights=sizes[clients])

    names = ["body.fc2.weight", "body.fc2.bias", "head.weight", "head.bias"]
    expected = np.concatenate([average(HEAD_1, name, first) for name in names])
    np.testing.assert_allclose(state.of("cuau")["head-1"], expected, rtol=1e-5, atol=1e-7)
    everyone = list(range(CLIENTS))
    expected = np.concatenate(
        [average(ARRAYS, name, everyone) for name in ["body.fc1.weight", "body.fc1.bias", *names]]
    )
    np.testing.assert_allclose(state.omega, expected, rtol=1e-5, atol=1e-7)


def test_a_client_that_comes_late_is_measured_when_it_appears() -> None:
    probed: list[int] = []
    _, lines = start(
        app(lambda number, probe, reply: probed.append(number) if probe else None), rounds=3, grid=LateGrid
    )
    assert lines[0]["cuau/client_ids"] == [0, 1, 2, 3] and lines[1]["cohort"] == [0, 1, 2, 3]
    assert lines[2]["cuau/client_ids"] == [4] and lines[2]["cuau/clusters"] == [2]
    assert lines[2]["cohort"] == lines[3]["cohort"] == [0, 1, 2, 3, 4]
    assert lines[2]["bytes_up"] == lines[3]["bytes_up"] + lines[2]["cuau/stage1_bytes_up"]
    assert probed == [0, 1, 2, 3, 4]


def test_who_cannot_be_measured_is_in_the_last_cluster_and_asked_once() -> None:
    asked: list[int] = []

    def fail(number: int, probe: bool, reply: Message) -> None:
        if probe and number == 0:
            asked.append(number)
            raise RuntimeError("out of memory")

    _, lines = start(app(fail), rounds=2)
    assert lines[0]["cuau/client_ids"] == [1, 2, 3, 4]
    assert [(one["id"], "out of memory" in one["reason"]) for one in lines[0]["cuau/unmeasured"]] == [(0, True)]
    assert lines[1]["cohort"] == [0, 1, 2, 3, 4] and lines[1]["cuau/cluster_sizes"] == [2, 3]
    assert lines[1]["personal/client_cluster"][0] == 2
    assert asked == [0]


def test_a_measurement_from_another_initial_model_does_not_count() -> None:
    _, lines = start(app(seed_of=lambda number: 8 if number == 2 else 3), rounds=1)
    assert lines[0]["cuau/client_ids"] == [0, 1, 3, 4]
    (left,) = lines[0]["cuau/unmeasured"]
    assert left["id"] == 2 and "another initial model" in left["reason"]
    with pytest.raises(ConfigError, match="2 clusters need as many clients, but only 1 could be measured"):
        start(app(seed_of=lambda number: number), rounds=1)


def test_a_measurement_that_says_too_little_does_not_count() -> None:
    def forget(number: int, probe: bool, reply: Message) -> None:
        if probe and number == 1:
            del reply.content[METRICS]["initial-checksum"]  # type: ignore[union-attr]

    _, lines = start(app(forget), rounds=1)
    assert [one["id"] for one in lines[0]["cuau/unmeasured"]] == [1]


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        (lambda head: None, "it has no ArrayRecord 'groups:1'"),
        (lambda head: ArrayRecord({"head.bias": head["head.bias"]}), "other names"),
        (lambda head: ArrayRecord({**head, "head.bias": Array(np.full(3, np.nan, np.float32))}), "not finite"),
    ],
)
def test_a_reply_without_a_proper_head_is_left_out(spoiled: Callable[[Any], Any], reason: str) -> None:
    def spoil(number: int, probe: bool, reply: Message) -> None:
        if not probe and number == 0:
            head = reply.content.array_records[HEAD_1]
            del reply.content[HEAD_1]
            if (made := spoiled(head)) is not None:
                reply.content[HEAD_1] = made

    _, lines = start(app(spoil), rounds=1)
    (left,) = lines[1]["dropped"]
    assert left["id"] == 0 and reason in left["reason"]
    assert lines[1]["cohort"] == [1, 2, 3, 4]
