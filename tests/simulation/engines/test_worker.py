"""A worker turns what a client raises into a reply, and keeps what a foreign app remembers of each client."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fl_strategies.round.exchange import exchange
from simulation.engines.ray_grid import RayGrid
from tests.simulation.engines.obedient_app import answered, orders, refused

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 8, {}, workers=2) as opened:
        yield opened


def test_a_foreign_apps_state_is_kept_for_each_client_whatever_worker_runs_it(grid: RayGrid) -> None:
    for visit in (1, 2, 3):
        seen = answered(exchange(grid, orders(6, remember=True, seconds=0.01), 60, threading.Event()))
        assert sorted(seen) == list(range(6))
        assert {each["visits"] for each in seen.values()} == {visit}
    assert len(list(Path(grid.folder).iterdir())) == 6


def test_a_raising_client_is_an_error_reply_and_its_traceback_is_shown_once(
    grid: RayGrid, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "fedloom"):
        for _ in range(3):
            replies = list(grid.send_and_receive(orders(4, fail=-1), timeout=60))
    assert refused(replies) == {number: f"ValueError: client {number} was told to fail" for number in range(4)}
    assert caplog.text.count("Traceback") == 1
    assert "obedient_app.py" in caplog.text


def test_a_client_that_exits_does_not_end_its_worker(grid: RayGrid) -> None:
    while not all(crew.pid for crew in grid.pool.crews):
        list(grid.send_and_receive(orders(2, seconds=0.05)))
    before = {crew.pid for crew in grid.pool.crews}
    replies = list(grid.send_and_receive(orders(4, exit=1), timeout=60))
    assert refused(replies) == {1: "SystemExit: told to exit"}
    assert {crew.pid for crew in grid.pool.crews} == before
