"""The bench: what it writes, how its ratios are formed, that each kind of case really runs, and that memory counts all processes."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from simulation.bench import comparison as bench
from simulation.bench.process_memory import alive, family, memory_mb

pytestmark = pytest.mark.timeout(120)
KEYS = "ideal_s ours_s flower_s ours_over_ideal flower_over_ours first_round_s flower_first_round_s peak_mb workers"
SECONDS = {"ideal": [0.9, 0.8, 2.0], "ray": [0.5, 0.45, 1.0], "flower": [0.75, 0.9, 1.5]}


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Known times instead of real runs; the list tells who did what, in order."""
    done: list[str] = []

    class Known(bench.Case):
        def __init__(self, how: str, options: dict[str, Any], rounds: int, workers: int) -> None:
            self.how, self.seconds, self.first_round, self.peak_mb = how, [], float(len(how)), 0.0
            done.append(f"start {how}")

        def round(self) -> None:
            self.seconds.append(SECONDS[self.how][len(self.seconds)])
            done.append(f"round {self.how}")

        def look(self) -> None:
            self.peak_mb = 100.0

        def close(self) -> None:
            done.append(f"end {self.how}")

    monkeypatch.setattr(bench, "Case", Known)
    return done


def test_figures_are_medians_and_ratios_those_of_each_turn(turns: list[str]) -> None:
    figures = bench.run_bench(["lenet-100x10"], rounds=3, workers=2)["lenet-100x10"]
    assert turns[:6] == ["start ideal", "start ray", "start flower", "round ideal", "round ray", "round flower"]
    assert sorted(turns[-3:]) == ["end flower", "end ideal", "end ray"]
    assert set(KEYS.split()) <= figures.keys()
    assert figures["ideal_s"] == pytest.approx(0.45)
    assert figures["ours_s"] == 0.5
    assert figures["ours_over_ideal"] == pytest.approx(2 * 0.5 / 0.9)  # of 1.11, 1.125 and 1.0
    assert figures["flower_over_ours"] == pytest.approx(1.5)  # of 1.5, 2.0 and 1.5
    assert (figures["first_round_s"], figures["flower_first_round_s"], figures["workers"]) == (3, 6, 2)
    assert figures["peak_mb"] == 100.0


def test_the_idle_workload_has_no_ideal(turns: list[str]) -> None:
    figures = bench.run_bench(["idle-1000x100"], rounds=2, workers=2)["idle-1000x100"]
    assert figures["ideal_s"] is None
    assert figures["ours_over_ideal"] is None
    assert "start ideal" not in turns


@pytest.mark.usefixtures("turns")
def test_the_command_writes_json_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    file = tmp_path / "bench.json"
    args = parser.parse_args(["--workloads", "mlp-500x10,idle-1000x100", "--rounds", "3", "--json", str(file)])
    assert bench.main(args) == 0
    assert list(json.loads(file.read_text())) == ["mlp-500x10", "idle-1000x100"]
    assert "mlp-500x10" in capsys.readouterr().out


def test_an_unknown_workload_is_refused_before_anything_runs(turns: list[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    with pytest.raises(ConfigError, match=r"There is no workload 'lenet'; did you mean 'lenet-100x10'\?"):
        bench.main(parser.parse_args(["--workloads", "mlp-500x10,lenet"]))
    assert not turns


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Any]:
    """Options of a workload that takes milliseconds."""
    random = rng(0, "bench test")
    x, y = random.integers(0, 256, (60, 28, 28), dtype=np.uint8), np.arange(60) % 10
    np.savez(tmp_path / "images.npz", x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
    own = {"dataset": f"npz:{tmp_path / 'images.npz'}", "clients": 4, "fraction": 0.5, "model": "mlp:200,200"}
    return {**bench.IMAGES, **own, "batch-size": 5}


@pytest.mark.parametrize("how", ["ideal", "ray"])
def test_a_case_runs_round_by_round_in_a_process_of_its_own(how: str, tiny: dict[str, Any]) -> None:
    case = bench.Case(how, tiny, rounds=2, workers=1)
    try:
        started = family(case.process.pid)
        case.round()
        time.sleep(0.5)  # it waits, and this does not count
        case.round()
        case.look()
    finally:
        case.close()
    assert len(case.seconds) == 2
    assert all(0 < seconds < case.first_round for seconds in case.seconds)
    assert case.peak_mb > 50
    assert case.process.returncode is not None
    assert len(started) > 1 or how == "ideal"
    assert not [pid for pid in started if alive(pid)]


def test_a_case_that_fails_says_why(tiny: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match=r"ended after 0 rounds:[\s\S]*no-such-file"):
        bench.Case("ideal", {**tiny, "dataset": "npz:no-such-file.npz"}, rounds=1, workers=1)


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
