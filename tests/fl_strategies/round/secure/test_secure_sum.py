"""The joint class distribution without anybody's own: what is on the wire, what comes out, and when it is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.common.serde import recorddict_to_proto
from numpy.typing import NDArray
from torch import nn

from clients import LocalClient, LocalSettings
from clients.secure.masking import host_secret
from fl_config.errors import ConfigError
from fl_data import Samples
from fl_data.discrepancy import discrepancy
from fl_protocol.codec import CONFIG, pack
from fl_protocol.messages import MaskedSum, Setup, read_message
from fl_strategies.checkpoint import load_checkpoint, save_checkpoint
from fl_strategies.round.secure.secure_sum import secure_sum
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, DATA, FEATURES, Records, initial

SHARES = [[40, 11, 3], [2, 37, 5], [13, 17, 19], [1, 1, 50], [23, 29, 31]]
STOP = threading.Event()


class Wire(InlineGrid):
    """Keeps every reply as it would be sent."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[int, bytes, Message]] = []

    def _answer(self, message: Message) -> Message:
        reply = super()._answer(message)
        if not reply.has_error():
            content = recorddict_to_proto(reply.content).SerializeToString()
            self.seen.append((message.metadata.dst_node_id - 2, content, reply))
        return reply


def app(folder: Path, away: Any = None) -> ClientApp:
    made = ClientApp()

    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        if away and away(number, message):
            raise RuntimeError("away")
        y = np.repeat(np.arange(CLASSES), SHARES[number])
        x = np.resize(DATA[number][0], (len(y), FEATURES))
        client = LocalClient(
            nn.Linear(FEATURES, CLASSES), Samples(x, y), CLASSES, client_id=number,
            secret=lambda: host_secret(folder / f"{number}.secret"),
        )  # fmt: skip
        return client.answer(message)

    for kind in (made.train, made.evaluate, made.query):
        kind()(answer)
    return made


def test_the_sum_is_right_and_no_histogram_is_on_the_wire(tmp_path: Path) -> None:
    grid = Wire(app(tmp_path), CLIENTS, {})
    records = Records()
    made = ComposedStrategy(
        "feddisco", parts={"disco.target": "global"}, local=LocalSettings(lr=0.1, batch_size=8),
        observers=[records], min_clients=CLIENTS,
    )  # fmt: skip
    made.start(grid, initial(), 1)
    total = np.sum(SHARES, axis=0)
    assert made.members.totals["class_counts"].tolist() == total.tolist()
    expected = [discrepancy(counts, "kl", total / total.sum()) for counts in SHARES]
    assert records.lines[1]["disco/discrepancy"] == pytest.approx(expected, abs=1e-12)
    masked_parts = 0
    for client, content, reply in grid.seen:
        counts = np.array(SHARES[client])
        for kind in ("<i8", "<i4", "<f8", "<f4", ">i8"):
            assert counts.astype(kind).tobytes() not in content
        assert json.dumps(SHARES[client]).encode() not in content
        for record in reply.content.config_records.values():
            assert all(value != SHARES[client] for value in record.values())
            if "masked" in record:
                masked_parts += 1
                words = np.frombuffer(bytes(record["masked"]), dtype="<u8")  # type: ignore[arg-type]
                assert (words > 2**40).all(), "a masked count is as small as a count"
    assert masked_parts == CLIENTS
    save_checkpoint(tmp_path, made.state)  # type: ignore[arg-type]
    again = ComposedStrategy("feddisco", parts={"disco.target": "global"}, state=load_checkpoint(tmp_path))
    assert again.members.totals["class_counts"].tolist() == total.tolist()


def summed(grid: Wire) -> NDArray[np.int64]:
    return secure_sum(grid, list(grid.get_node_ids()), "class_counts", "disco", Setup(), 10, STOP)


def order_of(message: Message) -> MaskedSum:
    made: MaskedSum = read_message(message.content, "query", LocalSettings())
    return made


def test_a_client_that_goes_away_in_the_middle_starts_the_sum_anew(tmp_path: Path) -> None:
    def away(number: int, message: Message) -> bool:
        return number == 1 and order_of(message).keys != []

    grid = Wire(app(tmp_path, away), CLIENTS, {})
    total = summed(grid)
    assert total.tolist() == (np.sum(SHARES, axis=0) - SHARES[1]).tolist()


def test_two_clients_are_too_few(tmp_path: Path) -> None:
    grid = Wire(app(tmp_path), 2, {})
    with pytest.raises(ConfigError, match="'disco' needs a secure sum over 3 or more clients, but 2"):
        summed(grid)
    assert all("masked" not in str(reply.content) for _, _, reply in grid.seen)


def test_without_a_secret_it_is_a_sentence() -> None:
    x, y = DATA[0]
    client = LocalClient.on_arrays(nn.Linear(FEATURES, CLASSES), x, y, client_id="site-a", num_classes=CLASSES)
    with pytest.raises(ConfigError, match="site-a has no folder"):
        client.get_properties(dict(pack(MaskedSum("class_counts", "s")).config_records[CONFIG]))
