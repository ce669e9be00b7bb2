"""The bench: what it writes, how its ratios are formed, that each kind of case really runs, and that memory counts all processes."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_config.params import ConfigError
from fl_config.seeds import rng
from simulation import bench
from simulation.bench import Measured
from simulation.process_memory import memory_mb

pytestmark = pytest.mark.timeout(120)
KEYS = "ideal_s ours_s flower_s ours_over_ideal flower_over_ours first_round_s flower_first_round_s peak_mb workers"
SECONDS = {"ideal": [0.9, 0.8, 1.0], "ray": [0.5, 0.45, 9.0], "flower": [0.75, 0.7, 1.5]}


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Known times instead of real runs; the list tells which were asked for."""
    asked: list[tuple[str, int, int]] = []

    def known(how: str, options: dict[str, Any], rounds: int, workers: int) -> Measured:
        asked.append((how, rounds, workers))
        return Measured(SECONDS[how], first_round=len(how), peak_mb=100.0)

    monkeypatch.setattr(bench, "measure", known)
    return asked


def test_figures_are_medians_and_their_ratios(cases: list[tuple[str, int, int]]) -> None:
    figures = bench.run_bench(["lenet-100x10"], rounds=12, workers=2)["lenet-100x10"]
    assert cases == [("ideal", 12, 2), ("ray", 12, 2), ("flower", 12, 2)]
    assert set(KEYS.split()) <= figures.keys()
    assert figures["ideal_s"] == pytest.approx(0.45)
    assert figures["ours_s"] == 0.5
    assert figures["ours_over_ideal"] == pytest.approx(0.5 / 0.45)
    assert figures["flower_over_ours"] == pytest.approx(1.5)
    assert (figures["first_round_s"], figures["flower_first_round_s"], figures["workers"]) == (3, 6, 2)


def test_the_idle_workload_has_no_ideal(cases: list[tuple[str, int, int]]) -> None:
    figures = bench.run_bench(["idle-1000x100"], workers=2)["idle-1000x100"]
    assert figures["ideal_s"] is None
    assert figures["ours_over_ideal"] is None
    assert [how for how, _, _ in cases] == ["ray", "flower"]


@pytest.mark.usefixtures("cases")
def test_the_command_writes_json_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    file = tmp_path / "bench.json"
    args = parser.parse_args(["--workloads", "mlp-500x10,idle-1000x100", "--rounds", "11", "--json", str(file)])
    assert bench.main(args) == 0
    assert list(json.loads(file.read_text())) == ["mlp-500x10", "idle-1000x100"]
    assert "mlp-500x10" in capsys.readouterr().out


def test_an_unknown_workload_is_refused_before_anything_runs(cases: list[tuple[str, int, int]]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    with pytest.raises(ConfigError, match=r"There is no workload 'lenet'; did you mean 'lenet-100x10'\?"):
        bench.main(parser.parse_args(["--workloads", "mlp-500x10,lenet"]))
    assert not cases


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Any]:
    """Options of a workload that takes milliseconds."""
    random = rng(0, "bench test")
    x, y = random.integers(0, 256, (60, 28, 28), dtype=np.uint8), np.arange(60) % 10
    np.savez(tmp_path / "images.npz", x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
    own = {"dataset": f"npz:{tmp_path / 'images.npz'}", "clients": 4, "fraction": 0.5, "model": "mlp:200,200"}
    return {**bench.IMAGES, **own, "batch-size": 5}


@pytest.mark.parametrize("how", ["ideal", "ray"])
def test_a_case_runs_in_a_process_of_its_own_and_is_timed(how: str, tiny: dict[str, Any]) -> None:
    measured = bench.measure(how, tiny, rounds=3, workers=1)
    assert len(measured.rounds) == 3
    assert all(0 < seconds < measured.first_round for seconds in measured.rounds)
    assert measured.peak_mb > 50


def test_a_case_that_fails_says_why(tiny: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="ended after 0 rounds"):
        bench.measure("ideal", {**tiny, "dataset": "npz:no-such-file.npz"}, rounds=1, workers=1)


def test_memory_counts_the_children_too() -> None:
    block = 60 * 2**20
    child = f"import sys; held = bytes({block} // 2) * 2; print('held', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert memory_mb(process.pid) > 60
        assert process.stdin is not None
        process.stdin.close()
