"""The bench: what it writes, how its ratios are formed, and that a wrong request is refused before anything runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from simulation.bench import comparison as bench

KEYS = (
    "ideal_s parallel_s ours_s flower_s pfl_s ours_over_ideal ours_over_parallel flower_over_ours pfl_over_ours "
    "first_round_s flower_first_round_s peak_mb workers"
)
SECONDS = {
    "ideal": [0.9, 0.8, 2.0],
    "parallel": [0.4, 0.5, 0.8],
    "ray": [0.5, 0.45, 1.0],
    "flower": [0.75, 0.9, 1.5],
    "pfl": [1.0, 0.9, 1.0],
}


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
    monkeypatch.setattr(bench, "SideBySide", lambda *given: Known("parallel", *given))
    monkeypatch.setattr(bench, "peer_is_there", lambda: True)
    return done


def test_figures_are_medians_and_ratios_those_of_each_turn(turns: list[str]) -> None:
    figures = bench.run_bench(["lenet-100x10"], rounds=3, workers=2)["lenet-100x10"]
    order = ["ideal", "parallel", "ray", "flower", "pfl"]
    assert turns[:10] == [f"start {how}" for how in order] + [f"round {how}" for how in order]
    assert turns[-5:] == [f"end {how}" for how in reversed(order)]
    assert list(figures) == KEYS.split()
    assert figures["ideal_s"] == pytest.approx(0.45)
    assert figures["ours_s"] == 0.5
    assert figures["ours_over_ideal"] == pytest.approx(2 * 0.5 / 0.9)  # of 1.11, 1.125 and 1.0
    assert figures["parallel_s"] == 0.5
    assert figures["ours_over_parallel"] == pytest.approx(1.25)  # of 1.25, 0.9 and 1.25
    assert (figures["pfl_s"], figures["pfl_over_ours"]) == (1.0, 2.0)  # of 2, 2 and 1
    assert figures["flower_over_ours"] == pytest.approx(1.5)  # of 1.5, 2.0 and 1.5
    assert (figures["first_round_s"], figures["flower_first_round_s"], figures["workers"]) == (3, 6, 2)
    assert figures["peak_mb"] == 100.0


def test_the_idle_workload_has_no_ideal(turns: list[str]) -> None:
    figures = bench.run_bench(["idle-1000x100"], rounds=2, workers=2)["idle-1000x100"]
    assert figures["ideal_s"] is None
    assert figures["ours_over_ideal"] is None
    assert figures["parallel_s"] is None and figures["pfl_s"] is None
    assert turns[:2] == ["start ray", "start flower"]


def test_what_nobody_can_do_is_null(turns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "peer_is_there", lambda: False)
    figures = bench.run_bench(["mlp-1000000x100"], rounds=2, workers=2)["mlp-1000000x100"]
    assert [key for key in KEYS.split() if figures[key] is None] == [
        "flower_s", "pfl_s", "flower_over_ours", "pfl_over_ours", "flower_first_round_s"
    ]  # fmt: skip
    assert turns[:4] == ["start ideal", "start parallel", "start ray", "round ideal"]
    monkeypatch.setattr(bench, "peer_is_there", lambda: True)
    assert bench.run_bench(["state-500x10"], rounds=1, workers=2)["state-500x10"]["pfl_s"] is None  # it has no FedSSG


@pytest.mark.usefixtures("turns")
def test_the_command_writes_json_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    file = tmp_path / "bench.json"
    args = parser.parse_args(["--workloads", "mlp-500x10,idle-1000x100", "--rounds", "3", "--json", str(file)])
    assert bench.main(args) == 0
    assert list(json.loads(file.read_text())) == ["mlp-500x10", "idle-1000x100"]
    told = capsys.readouterr().out
    first = "mlp-500x10: 0.500 s per round, bare loops side by side 0.500, Flower's engine 0.900, pfl-research 1.000 (1 of 2)"
    assert told.splitlines()[0] == first and "median seconds per round" in told and "earlier" not in told


@pytest.mark.usefixtures("turns")
def test_what_changed_is_shown_as_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    file = tmp_path / "bench.json"
    earlier = {
        "ours_s": 0.25,
        "flower_s": 1.8,
        "peak_mb": 400.0,
        "pfl_s": None,
        "flower_peak_mb": 3.0,
    }  # of an older version
    file.write_text(json.dumps({"mlp-500x10": earlier}))
    both = ["--workloads", "mlp-500x10,lenet-100x10", "--rounds", "3", "--json", str(file), "--compare", str(file)]
    assert bench.main(parser.parse_args(both)) == 0
    shown = capsys.readouterr().out.partition("now / earlier")[2].splitlines()
    row = next(line for line in shown if "mlp-500x10" in line).split()
    assert row[1:] == ["-", "-", "2.00", "0.50", *["-"] * 7, "0.25"]
    assert next(line for line in shown if "lenet" in line).split()[1:] == ["-"] * 12


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, r"earlier.json cannot be read \(No such file"), ("[1]", "is no result of"), ("{", "is no result of")],
)
def test_an_earlier_result_that_is_none_is_refused_before_anything_runs(
    content: str | None, said: str, tmp_path: Path, turns: list[str]
) -> None:
    file = tmp_path / "earlier.json"
    if content is not None:
        file.write_text(content)
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    with pytest.raises(ConfigError, match=said):
        bench.main(parser.parse_args(["--compare", str(file)]))
    assert not turns


def test_an_unknown_workload_is_refused_before_anything_runs(turns: list[str]) -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    with pytest.raises(ConfigError, match=r"There is no workload 'lenet'; did you mean 'lenet-100x10'\?"):
        bench.main(parser.parse_args(["--workloads", "mlp-500x10,lenet"]))
    assert not turns
