"""Crews under faults: workers that are killed, clients that kill them or never end, and what is left in the pool afterwards."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flwr.app import MessageType

from fl_protocol.flower import ErrorCode
from fl_strategies.round.exchange import RunStopped, exchange
from simulation.bench.process_memory import alive
from simulation.engines.ray_grid import RayGrid
from tests.simulation.engines.obedient_app import answered, orders, refused

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 8, {}, workers=2) as opened:
        yield opened


def full_pool(grid: RayGrid) -> set[int]:
    """The process ids of the workers, once all are ready."""
    while not grid.pool.crews or not all(crew.pid for crew in grid.pool.crews):
        list(grid.send_and_receive(orders(2, seconds=0.05)))
    return {crew.pid for crew in grid.pool.crews}


def test_a_killed_worker_is_replaced_and_its_client_tried_again(
    grid: RayGrid, caplog: pytest.LogCaptureFixture
) -> None:
    victim = min(full_pool(grid))
    killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
    killer.start()
    with caplog.at_level(logging.WARNING, "fedloom"):
        replies = list(grid.send_and_receive(orders(4, seconds=1.0), timeout=60))
    killer.join()
    assert set(answered(replies)) == {0, 1, 2, 3}
    assert "tried once more" in caplog.text
    pids = {reply["pid"] for reply in answered(grid.send_and_receive(orders(8, seconds=0.05), timeout=60)).values()}
    assert victim not in pids
    assert not alive(victim)


def test_a_client_that_kills_its_worker_once_is_answered_the_second_time(grid: RayGrid, tmp_path: Path) -> None:
    replies = list(grid.send_and_receive(orders(6, die=3, once=str(tmp_path / "died")), timeout=60))
    assert (tmp_path / "died").exists()
    assert set(answered(replies)) == set(range(6))


def test_a_client_that_always_kills_its_worker_is_dropped_with_a_reason(grid: RayGrid) -> None:
    replies = list(grid.send_and_receive(orders(6, die=3), timeout=90))
    assert set(answered(replies)) == {0, 1, 2, 4, 5}
    assert refused(replies) == {3: "the worker process died 2 times while it ran this client"}
    assert [reply.error.code for reply in replies if reply.has_error()] == [ErrorCode.CLIENT_APP_CRASHED]


def test_one_bad_query_in_a_batch_does_not_take_the_others_with_it(grid: RayGrid) -> None:
    replies = list(grid.send_and_receive(orders(8, MessageType.QUERY, die=5), timeout=90))
    assert set(answered(replies)) == {0, 1, 2, 3, 4, 6, 7}
    assert set(refused(replies)) == {5}


def test_a_client_that_never_ends_meets_the_timeout_and_frees_its_worker(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.engines.pool.GRACE", 0.3)
    before = full_pool(grid)
    began = time.monotonic()
    replies = list(exchange(grid, orders(4, hang=2), 2.0, threading.Event()))
    assert time.monotonic() - began < 10
    assert set(answered(replies)) == {0, 1, 3}
    after = list(exchange(grid, orders(4, seconds=0.5), 60.0, threading.Event()))
    assert set(answered(after)) == {0, 1, 2, 3}
    assert not grid.pool.jobs
    assert not grid.pool.replies
    deadline = time.monotonic() + 30
    while sum(alive(pid) for pid in before) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert sum(alive(pid) for pid in before) == 1, "the worker of the hanging client must be gone, the other one stays"


def test_a_hanging_client_does_not_keep_those_that_travel_with_it(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.engines.pool.PATIENCE", 1.0)
    full_pool(grid)
    for _ in range(8):
        list(grid.send_and_receive(orders(8, MessageType.QUERY)))  # learn that queries are quick
    replies = list(exchange(grid, orders(8, MessageType.QUERY, hang=1), 15.0, threading.Event()))
    assert set(answered(replies)) == {0, 2, 3, 4, 5, 6, 7}


def test_workers_outlive_a_round_that_had_enough_replies(grid: RayGrid) -> None:
    before = full_pool(grid)
    for _ in range(3):
        replies = list(exchange(grid, orders(6, seconds=0.2), 60.0, threading.Event(), enough=3))
        assert len(replies) >= 3
    assert full_pool(grid) == before


def test_a_stopped_run_leaves_nothing_behind_in_the_pool(grid: RayGrid) -> None:
    grid.send_and_receive(orders(4))
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(RunStopped):
        list(exchange(grid, orders(4, hang=0), 60.0, stop))
    assert not grid.pool.jobs
    assert not grid.pool.waiting
    assert set(answered(grid.send_and_receive(orders(4), timeout=60))) == {0, 1, 2, 3}
