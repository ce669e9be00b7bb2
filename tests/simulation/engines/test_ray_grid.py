"""The ray engine as a Flower grid: what it sends, how it is interrupted, what it says of a wrong app, and that nothing outlives it."""

from __future__ import annotations

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
from flwr.app import Array, ArrayRecord

from fl_config.errors import ConfigError
from fl_strategies.round.exchange import RunStopped, exchange
from simulation.bench.process_memory import alive, family
from simulation.engines.ray_grid import RayGrid
from simulation.engines.transport.stored import Stored
from tests.simulation.engines.obedient_app import answered, orders

pytestmark = pytest.mark.timeout(120)
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def grid() -> Iterator[RayGrid]:
    with RayGrid("obedient_app:app", 8, {}, workers=2) as opened:
        list(opened.send_and_receive(orders(1)))
        yield opened


def test_shared_arrays_are_stored_once_and_come_back_whole(grid: RayGrid, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Stored] = []

    def noted(*given: Any) -> Stored:
        stored.append(Stored(*given))
        return stored[-1]

    monkeypatch.setattr("simulation.engines.ray_grid.Stored", noted)
    arrays = ArrayRecord({"w": Array(np.arange(50_000, dtype=np.float32).reshape(100, 500)), "n": Array(np.array(3))})
    messages = orders(8)
    for number, message in enumerate(messages):
        # Half of them hold the same arrays in another record.
        message.content["arrays"] = arrays if number % 2 else ArrayRecord(dict(arrays))
    replies = list(grid.send_and_receive(messages, timeout=60))
    assert len(stored) == 1
    assert len(replies) == 8
    for reply in replies:
        back = reply.content["arrays"]
        np.testing.assert_array_equal(back["w"].numpy(), arrays["w"].numpy())  # type: ignore[index]
        assert back["n"].numpy().shape == ()  # type: ignore[index]


def test_workers_are_as_nice_as_the_driver(grid: RayGrid) -> None:
    """By itself Ray would have them wait for everything else on the machine."""
    ready = [crew.pid for crew in grid.pool.crews if crew.pid]
    assert ready
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in ready} == {os.getpriority(os.PRIO_PROCESS, 0)}


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_gets_lost_inside_ray_is_raised_all_the_same(
    grid: RayGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the handler runs in a destructor, or in a callback of compiled code that drops what it raises."""

    def swallowing(refs: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            return [], refs
        raise AssertionError("the interrupt did not arrive")

    with monkeypatch.context() as patch:
        patch.setattr(grid.pool.ray, "wait", swallowing)
        with pytest.raises(KeyboardInterrupt):
            list(exchange(grid, orders(2), 10.0, threading.Event()))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert set(answered(grid.send_and_receive(orders(4), timeout=60))) == {0, 1, 2, 3}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("own_handler", [False, True])
def test_an_interrupt_is_heard_within_a_moment_while_a_client_hangs(grid: RayGrid, own_handler: bool) -> None:
    """With Python's handler, as in anybody's script, and with one that asks the run to stop, as `fedloom run` has it."""
    stop = threading.Event()
    if own_handler:
        signal.signal(signal.SIGINT, lambda *_: stop.set())
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(RunStopped if own_handler else KeyboardInterrupt):
        list(exchange(grid, orders(2, hang=0), 60.0, stop))
    timer.join()
    assert time.monotonic() - sent[0] < 5
    assert not grid.pool.jobs


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


# The handler is set because a shell starts its background jobs with SIGINT ignored, which all their processes inherit.
ENDLESS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from simulation.engines.ray_grid import RayGrid
from obedient_app import orders
with RayGrid("obedient_app:app", 2, {}, workers=2) as grid:
    while not grid.pool.crews or not all(crew.pid for crew in grid.pool.crews):
        list(grid.send_and_receive(orders(1)))
    print(*[crew.pid for crew in grid.pool.crews], flush=True)
    list(grid.send_and_receive(orders(1, hang=0)))
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
    members = family(driver.pid)
    assert set(workers) < members
    if how == signal.SIGINT:
        os.killpg(driver.pid, how)
    else:
        driver.send_signal(how)
        members = {driver.pid, *workers}  # Ray's own agents take a minute to notice that a killed driver is gone
    driver.wait(60)
    deadline = time.monotonic() + 40
    while any(alive(pid) for pid in members) and time.monotonic() < deadline:
        time.sleep(0.2)
    left = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in members if alive(pid)}
    assert not left
