"""Two real Ray nodes that share no disk: the bits of one machine, nodes that are refused by name, that die, and that come later."""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.round.exchange import exchange
from fl_strategies.round.records import Observer, Record
from simulation.engines.cluster import nodes as nodes_module
from simulation.engines.cluster.nodes import differences
from simulation.engines.cluster.travelling import SCRATCH, HomeFolder, Souvenirs
from simulation.engines.ray_grid import RayGrid
from simulation.runner import run
from tests.simulation.engines.cluster.two_nodes import TwoNodes
from tests.simulation.engines.obedient_app import answered, orders

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[4]
SMALL = {
    "dataset": "digits",
    "partition": "dirichlet:0.3",
    "model": "mlp:32",
    "clients": 8,
    "fraction": 0.75,
    "seed": 3,
}


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the second node does not see; it has another, empty one in its place."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, hidden: Path) -> Iterator[TwoNodes]:
    started = TwoNodes(tmp_path_factory.mktemp("cluster"))
    try:
        started.head()
        yield started
    finally:
        started.end()


@pytest.fixture
def second(cluster: TwoNodes, hidden: Path) -> subprocess.Popen[bytes]:
    """The second node; started again where a test has ended it."""
    if len(cluster.processes) < 2:
        join(cluster, hidden)
    return cluster.processes[1]


def join(cluster: TwoNodes, hidden: Path) -> None:
    """A node that lacks the driver's folder and the data set, and has temporary files of its own."""
    (cluster.folder / "temporary").mkdir(exist_ok=True)
    cluster.join([hidden], FEDLOOM_DATA=str(hidden / "data"), TMPDIR=str(cluster.folder / "temporary"))


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs begin when the workers of both nodes are ready: small ones are over before the second is."""
    started = RayGrid.started

    def all_started(self: RayGrid) -> None:
        started(self)
        deadline = time.monotonic() + 60
        while not all(crew.pid for crew in self.pool.crews) and time.monotonic() < deadline:
            self.pool.collect(0.5)

    monkeypatch.setattr(RayGrid, "started", all_started)


@pytest.fixture
def travelled(monkeypatch: pytest.MonkeyPatch) -> list[Souvenirs]:
    """What comes back from nodes with their answers."""
    seen: list[Souvenirs] = []
    unpack = HomeFolder.unpack

    def noted(self: HomeFolder, partition: int, message_id: str, souvenirs: Souvenirs | None) -> bool:
        seen.extend([souvenirs] if souvenirs is not None else [])
        return unpack(self, partition, message_id, souvenirs)

    monkeypatch.setattr(HomeFolder, "unpack", noted)
    return seen


def on_cluster(cluster: TwoNodes, **options: Any) -> dict[str, Any]:
    return {**SMALL, "engine": "ray", "ray_address": cluster.address, **options}


def assert_same_bits(model: dict[str, Any], expected: dict[str, Any]) -> None:
    assert model.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(model[name], value, err_msg=name)


def without_times(records: list[Record]) -> list[Record]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in records]


@pytest.mark.usefixtures("second", "everybody")
@pytest.mark.parametrize("strategy", ["scaffold", "fedssg+disco", "moon", "fedper"])
def test_nodes_without_a_shared_disk_give_the_bits_of_one_machine_and_the_drivers_folder_is_whole(
    cluster: TwoNodes, hidden: Path, strategy: str, travelled: list[Souvenirs]
) -> None:
    folders = [str(hidden / f"{place}-{strategy}") for place in ("inline", "cluster")]
    expected = run({**SMALL, "engine": "inline", "strategy": strategy, "rounds": 4, "out": folders[0]})
    done = run(on_cluster(cluster, strategy=strategy, rounds=4, out=folders[1]))
    assert any(souvenirs.files for souvenirs in travelled), "the second node has trained nobody"
    assert_same_bits(done.model, expected.model)
    assert without_times(done.metrics) == without_times(expected.metrics)
    assert not list((cluster.folder / "temporary").glob(f"{SCRATCH}*"))
    further = [run({"resume": folder, "rounds": 6, "engine": "inline", "ray_address": ""}) for folder in folders]
    assert_same_bits(further[1].model, further[0].model)


@pytest.mark.usefixtures("second")
def test_data_that_a_node_lacks_are_named_with_the_node_and_no_run_begins(
    cluster: TwoNodes, hidden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is relative: the first node finds it from where the driver is."""
    draw = np.random.default_rng(0)
    arrays = {"x_train": draw.normal(size=(40, 4)), "y_train": np.arange(40) % 2}
    np.savez(hidden / "own.npz", **arrays, x_test=arrays["x_train"], y_test=arrays["y_train"])
    monkeypatch.chdir(hidden)
    options = on_cluster(cluster, strategy="fedavg", rounds=1, out="never", dataset="npz:own.npz", model="mlp:4")
    with pytest.raises(ConfigError, match=r"has 1 node that .*: \d+[\d.]+ \(.+\) cannot use the data .*own.npz"):
        run(options)
    assert not (hidden / "never").exists()


@pytest.mark.usefixtures("everybody")
def test_a_node_that_dies_in_the_middle_of_a_round_costs_only_time(
    cluster: TwoNodes, hidden: Path, second: subprocess.Popen[bytes], travelled: list[Souvenirs]
) -> None:
    heavier = {"strategy": "scaffold", "rounds": 4, "epochs": 20, "batch_size": 10}
    expected = run({**SMALL, **heavier, "engine": "inline", "out": str(hidden / "calm")})
    killer = threading.Timer(0.1, cluster.leave, (second, signal.SIGKILL))

    class Killer(Observer):
        def recorded(self, record: Record) -> None:
            if record["round"] == 2:
                killer.start()

    done = run(on_cluster(cluster, **heavier, out=str(hidden / "stormy")), [Killer()])
    killer.join()
    assert travelled
    assert all(not record.get("dropped") for record in done.metrics)
    assert_same_bits(done.model, expected.model)


def test_a_node_that_comes_later_gets_a_worker_and_what_a_foreign_app_remembers_travels_there(
    cluster: TwoNodes, hidden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes_module, "LOOK_EVERY", 0.5)
    for process in cluster.processes[1:]:
        cluster.leave(process)
    with RayGrid(
        "obedient_app:app", 6, {}, address=cluster.address, folder=str(hidden / "foreign" / "contexts")
    ) as grid:
        visits = 0
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len({crew.node for crew in grid.pool.crews if crew.pid}) < 2:
            visits += 1
            seen = answered(exchange(grid, orders(6, remember=True, seconds=0.05), 60, threading.Event()))
            assert {number: each["visits"] for number, each in seen.items()} == dict.fromkeys(range(6), visits)
            if visits == 1:
                joining = threading.Thread(target=join, args=(cluster, hidden))
                joining.start()
        joining.join()
        for _ in range(3):
            visits += 1
            seen = answered(exchange(grid, orders(6, remember=True, seconds=0.05), 60, threading.Event()))
            assert {number: each["visits"] for number, each in seen.items()} == dict.fromkeys(range(6), visits)
            last = {each["pid"] for each in seen.values()}
        assert len(last) == 2
    assert len(list((hidden / "foreign" / "contexts").iterdir())) == 6


@pytest.mark.usefixtures("second")
def test_a_node_with_another_version_is_refused_by_name(
    cluster: TwoNodes, hidden: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ROOT / "fl_config" / "errors.py"
    (tmp_path / "errors.py").write_text(file.read_text() + "# another version\n")
    monkeypatch.setattr(nodes_module, "LOOK_EVERY", 0.5)
    with RayGrid("obedient_app:app", 6, {}, address=cluster.address) as grid:
        list(grid.send_and_receive(orders(2)))
        other = cluster.join(swapped={file: tmp_path / "errors.py"})
        with caplog.at_level(logging.WARNING, "fedloom"):
            deadline = time.monotonic() + 60
            while "it gets no workers" not in caplog.text and time.monotonic() < deadline:
                list(grid.send_and_receive(orders(2, seconds=0.2)))
        assert "has FedLoom's source" in caplog.text
        assert len(grid.pool.crews) == 2
    try:
        with pytest.raises(ConfigError, match=r"1 node that .*\) has FedLoom's source \w{8} \(the driver has \w{8}\)"):
            run(on_cluster(cluster, strategy="fedavg", rounds=1, out=str(hidden / "refused")))
    finally:
        cluster.leave(other)
    assert not (hidden / "refused").exists()


def test_other_versions_are_said_side_by_side() -> None:
    ours = {"source": "a" * 64, "python": "3.11", "torch": "2.13.0", "numpy": "2.4.6", "flwr": "1.39.0"}
    assert differences(ours, ours) == []
    assert differences({**ours, "torch": "2.12.1", "python": "3.12", "host": "b"}, ours) == [
        "python 3.12 (the driver has 3.11)",
        "torch 2.12.1 (the driver has 2.13.0)",
    ]
