"""Slow and silent clients: a round takes the first replies, ends in time, and can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import pytest
from flwr.app import Message, MessageType

from fl_strategies.round.exchange import RunStopped
from fl_strategies.sampling import sample_cohort
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLIENTS, Records, app, initial, run


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


def test_over_sampling_takes_the_first_replies() -> None:
    class Slow(InlineGrid):
        """Client 0 never answers a training message."""

        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            kept = [known for known in message_ids if known in self.waiting]
            return super().pull_messages(
                known
                for known in kept
                if self.waiting[known].metadata.message_type != MessageType.TRAIN
                or self.waiting[known].metadata.dst_node_id != 2
            )

    began = time.monotonic()
    seed = next(s for s in range(50) if 0 in sample_cohort(range(CLIENTS), 0.6, s, 1))
    _, records = run(Slow(app(), CLIENTS, {}), fraction_train=0.6, over_sample=0.3, seed=seed, round_timeout=60)
    assert time.monotonic() - began < 20
    line = records.lines[1]
    assert len(line["cohort"]) == 3 and 0 not in line["cohort"]
    assert line["dropped"] == [{"id": 0, "reason": "enough others were faster"}]
