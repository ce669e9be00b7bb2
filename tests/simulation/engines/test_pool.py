"""The pool deals the longest clients first, slow messages alone and quick ones together, and says so where it finds no room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from flwr.app import MessageType

from fl_config.errors import ConfigError
from fl_strategies.round.exchange import exchange
from simulation.engines.crew import Crew
from simulation.engines.jobs import Job
from simulation.engines.ray_grid import RayGrid
from simulation.engines.transport.wire import FIRST_NODE
from tests.simulation.engines.obedient_app import answered, orders

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 40, {}, workers=2) as opened:
        yield opened


def dealt(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The clients of every call from now on, in the order in which they are dealt."""
    calls: list[list[int]] = []
    call = grid.pool._call

    def noted(crew: Crew, ref: Any, jobs: list[Job], *rest: Any) -> None:
        calls.append([job.message.metadata.dst_node_id - FIRST_NODE for job in jobs])
        call(crew, ref, jobs, *rest)

    monkeypatch.setattr(grid.pool, "_call", noted)
    return calls


def test_longest_clients_are_dealt_first_and_every_worker_has_some(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(exchange(grid, orders(40, MessageType.QUERY), 60, threading.Event()))  # client n tells of 10 + n examples
    while not all(crew.pid for crew in grid.pool.crews):
        list(exchange(grid, orders(2), 60, threading.Event()))
    calls = dealt(grid, monkeypatch)
    seen = answered(exchange(grid, orders(40, seconds=0.01), 60, threading.Event()))
    assert sorted(seen) == list(range(40))
    assert [client for call in calls for client in call] == list(reversed(range(40)))
    assert len({each["pid"] for each in seen.values()}) == 2


def test_slow_messages_travel_alone(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    list(exchange(grid, orders(8, seconds=0.1), 60, threading.Event()))
    calls = dealt(grid, monkeypatch)
    list(exchange(grid, orders(16, seconds=0.1), 60, threading.Event()))
    assert [len(call) for call in calls] == [1] * 16


def test_many_queries_travel_in_few_calls(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    list(exchange(grid, orders(16, MessageType.QUERY), 60, threading.Event()))  # every worker's first comes alone
    calls = dealt(grid, monkeypatch)
    replies = list(exchange(grid, orders(40, MessageType.QUERY), 60, threading.Event()))
    assert len(replies) == 40
    assert len(calls) < 30
    assert sorted(client for call in calls for client in call) == list(range(40))


def test_a_pool_that_finds_no_room_in_a_shared_ray_says_so(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    """`grid` holds both cores of the Ray that is running."""
    list(exchange(grid, orders(2), 60, threading.Event()))
    monkeypatch.setattr("simulation.engines.pool.START_TIMEOUT", 1.0)
    with (
        RayGrid("obedient_app:app", 2, {}, workers=1) as second,
        pytest.raises(ConfigError, match="No worker could start within 1 s: the Ray cluster has 0 free cores"),
    ):
        list(second.send_and_receive(orders(2), timeout=60))
    assert len(list(exchange(grid, orders(2), 60, threading.Event()))) == 2  # closing the second left Ray running
