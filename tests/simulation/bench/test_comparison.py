"""The bench: what it writes, how its ratios are formed, and that a wrong request is refused before anything runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from simulation.bench import comparison as bench

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
