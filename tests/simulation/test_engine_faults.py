"""The ray engine under faults: workers that are killed, clients that raise, exit or never end, and what is left afterwards."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.common.constant import ErrorCode

from fl_config.errors import ConfigError
from fl_strategies.round.exchange import RunStopped, exchange
from simulation.engines.jobs import FIRST_NODE
from simulation.engines.ray_grid import RayGrid

sys.path.append(str(Path(__file__).parent))  # workers find obedient_app where this process does
pytestmark = pytest.mark.timeout(120)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 8, {}, workers=2) as opened:
        yield opened


def orders(clients: int | list[int], kind: str = MessageType.TRAIN, **order: Any) -> list[Message]:
    numbers = range(clients) if isinstance(clients, int) else clients
    return [Message(RecordDict({"config": ConfigRecord(order)}), FIRST_NODE + number, kind) for number in numbers]


def answered(replies: list[Message]) -> dict[int, dict[str, Any]]:
    return {
        reply.metadata.src_node_id - FIRST_NODE: dict(reply.content["metrics"])
        for reply in replies
        if not reply.has_error()
    }  # type: ignore[arg-type]


def refused(replies: list[Message]) -> dict[int, str]:
    return {reply.metadata.src_node_id - FIRST_NODE: reply.error.reason for reply in replies if reply.has_error()}


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def full_pool(grid: RayGrid) -> set[int]:
    """The process ids of the workers, once all are ready."""
    while not grid.crews or not all(crew.pid for crew in grid.crews):
        list(grid.send_and_receive(orders(2, seconds=0.05)))
    return {crew.pid for crew in grid.crews}


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
    pids = {
        reply["pid"] for reply in answered(list(grid.send_and_receive(orders(8, seconds=0.05), timeout=60))).values()
    }
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
    before = full_pool(grid)
    replies = list(grid.send_and_receive(orders(4, exit=1), timeout=60))
    assert refused(replies) == {1: "SystemExit: told to exit"}
    assert {crew.pid for crew in grid.crews} == before


def test_a_client_that_never_ends_meets_the_timeout_and_frees_its_worker(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.engines.ray_grid.GRACE", 0.3)
    before = full_pool(grid)
    began = time.monotonic()
    replies = list(exchange(grid, orders(4, hang=2), 2.0, threading.Event()))
    assert time.monotonic() - began < 10
    assert set(answered(replies)) == {0, 1, 3}
    after = list(exchange(grid, orders(4, seconds=0.5), 60.0, threading.Event()))
    assert set(answered(after)) == {0, 1, 2, 3}
    assert not grid.jobs
    assert not grid.replies
    deadline = time.monotonic() + 30
    while sum(alive(pid) for pid in before) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert sum(alive(pid) for pid in before) == 1, "the worker of the hanging client must be gone, the other one stays"


def test_a_hanging_client_does_not_keep_those_that_travel_with_it(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.engines.ray_grid.PATIENCE", 1.0)
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


def test_a_stopped_run_leaves_nothing_behind_in_the_grid(grid: RayGrid) -> None:
    grid.send_and_receive(orders(4))
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(RunStopped):
        list(exchange(grid, orders(4, hang=0), 60.0, stop))
    assert not grid.jobs
    assert not grid.waiting
    assert set(answered(list(grid.send_and_receive(orders(4), timeout=60)))) == {0, 1, 2, 3}


def test_an_app_that_cannot_be_loaded_is_a_sentence(grid: RayGrid) -> None:
    grid.close()
    with (
        RayGrid("no_such_module:app", 2, {}, workers=1) as broken,
        pytest.raises(ConfigError, match="could not load the client app 'no_such_module:app'.*No module named"),
    ):
        list(broken.send_and_receive(orders(2), timeout=60))


def test_more_workers_than_gpus_is_a_sentence() -> None:
    with (
        RayGrid("obedient_app:app", 2, {}, workers=1, gpus_per_client=0.5) as broken,
        pytest.raises(ConfigError, match="there are 0 GPUs"),
    ):
        list(broken.send_and_receive(orders(2), timeout=60))


ENDLESS = """
import sys, threading
from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from simulation.engines.ray_grid import RayGrid
with RayGrid("obedient_app:app", 2, {}, workers=2) as grid:
    while not grid.crews or not all(crew.pid for crew in grid.crews):
        list(grid.send_and_receive([Message(RecordDict({"config": ConfigRecord({})}), 2, MessageType.TRAIN)]))
    print(*[crew.pid for crew in grid.crews], flush=True)
    content = RecordDict({"config": ConfigRecord({"hang": 0})})
    list(grid.send_and_receive([Message(content, 2, MessageType.TRAIN)]))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_driver(how: signal.Signals) -> None:
    """Ctrl-C reaches the whole process group, as on a terminal; a kill only the driver."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
    driver = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        start_new_session=True,
    )
    assert driver.stdout is not None
    workers = [int(pid) for pid in driver.stdout.readline().split()]
    assert workers
    family = descendants(driver.pid)
    assert set(workers) < family
    if how == signal.SIGINT:
        os.killpg(driver.pid, how)
    else:
        driver.send_signal(how)
        family = {driver.pid, *workers}  # Ray's own agents take a minute to notice that a killed driver is gone
    driver.wait(60)
    deadline = time.monotonic() + 40
    while any(alive(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.2)
    left = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in family if alive(pid)}
    assert not left


def descendants(pid: int) -> set[int]:
    """The process and everything it started, directly or not."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return family


def test_shared_arrays_are_stored_once_and_come_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with RayGrid("obedient_app:app", 8, {}, workers=2) as grid:
        list(grid.send_and_receive(orders(1)))
        puts: list[Any] = []
        put = grid.ray.put
        monkeypatch.setattr(grid.ray, "put", lambda value: puts.append(value) or put(value))
        arrays = ArrayRecord(
            {"w": _array(np.arange(50_000, dtype=np.float32).reshape(100, 500)), "n": _array(np.array(3))}
        )
        messages = orders(8)
        for number, message in enumerate(messages):
            message.content["arrays"] = (
                arrays if number % 2 else ArrayRecord(dict(arrays))
            )  # the same arrays in another record
        replies = list(grid.send_and_receive(messages, timeout=60))
        assert len(puts) == 1
        assert len(replies) == 8
        for reply in replies:
            back = reply.content["arrays"]
            np.testing.assert_array_equal(back["w"].numpy(), arrays["w"].numpy())  # type: ignore[index]
            assert back["n"].numpy().shape == ()  # type: ignore[index]


def _array(values: np.ndarray[Any, Any]) -> Any:
    from flwr.app import Array

    return Array(values)
