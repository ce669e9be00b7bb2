"""The ray engine gives the bits of the other engines, deals the longest clients first, and keeps a foreign app's state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from fl_strategies.exchange import exchange
from simulation.engine import FIRST_NODE, RayGrid
from simulation.runner import run

pytestmark = pytest.mark.timeout(180)
RECIPES = ["fedavg", "scaffold", "fedssg+disco"]


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 40, {}, workers=2) as opened:
        yield opened


def orders(count: int, kind: str = MessageType.TRAIN, **order: Any) -> list[Message]:
    return [Message(RecordDict({"config": ConfigRecord(order)}), FIRST_NODE + number, kind) for number in range(count)]


def facts(replies: list[Message]) -> dict[int, dict[str, Any]]:
    return {reply.metadata.src_node_id - FIRST_NODE: dict(reply.content["metrics"]) for reply in replies}  # type: ignore[arg-type]


def test_longest_clients_are_begun_first(grid: RayGrid) -> None:
    facts(list(exchange(grid, orders(40, MessageType.QUERY), 60, threading.Event())))  # client n has 10 + n examples
    seen = facts(list(exchange(grid, orders(40, seconds=0.01), 60, threading.Event())))
    assert sorted(seen) == list(range(40))
    begun = sorted(seen, key=lambda number: seen[number]["began"])
    for place, number in enumerate(begun):
        assert abs(place - (39 - number)) <= 2, f"client {number} was number {place} to begin: {begun}"
    assert len({each["pid"] for each in seen.values()}) == 2


def test_many_queries_travel_in_few_calls(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    list(exchange(grid, orders(4, seconds=0.1), 60, threading.Event()))
    calls: list[int] = []
    call = grid._call
    monkeypatch.setattr(grid, "_call", lambda crew, ref, jobs: calls.append(len(jobs)) or call(crew, ref, jobs))
    replies = list(exchange(grid, orders(40, MessageType.QUERY), 60, threading.Event()))
    assert len(replies) == 40
    assert len(calls) < 20
    assert sum(calls) == 40


def test_a_foreign_apps_state_is_kept_for_each_client_whatever_worker_runs_it(grid: RayGrid) -> None:
    for visit in (1, 2, 3):
        seen = facts(list(exchange(grid, orders(6, remember=True, seconds=0.01), 60, threading.Event())))
        assert {each["visits"] for each in seen.values()} == {visit}
    assert len(list(Path(grid.folder).iterdir())) == 6


def small_run(folder: Path, strategy: str, engine: str, workers: int = 0) -> dict[str, Any]:
    options = {"dataset": "digits", "partition": "dirichlet:0.3", "model": "mlp:32", "clients": 6, "fraction": 0.5}
    done = run({**options, "strategy": strategy, "rounds": 5, "seed": 3, "engine": engine, "workers": workers, "out": str(folder)})
    assert [record["round"] for record in done.metrics] == [0, 1, 2, 3, 4, 5]
    assert all(not record.get("dropped") for record in done.metrics)
    return done.model


@pytest.mark.parametrize("strategy", RECIPES)
def test_every_engine_gives_the_same_bits(strategy: str, tmp_path: Path) -> None:
    expected = small_run(tmp_path / "inline", strategy, "inline")
    for engine, workers in [("ray", 1), ("ray", 2), ("flower", 2)]:
        model = small_run(tmp_path / f"{engine}-{workers}", strategy, engine, workers)
        assert model.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(model[name], value, err_msg=f"{name} differs on {engine} with {workers} workers")
