"""Traffic adds up, and seconds stack by phase."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_runs.reading import RunRecord, read_run
from simulation.report.pictures.costs import seconds_figure, traffic_figure
from tests.runs.made_runs import MakeRun


def test_traffic_adds_up(make_run: MakeRun) -> None:
    run = read_run(make_run(rounds=4, cohort=5))
    figure = traffic_figure([run])
    assert figure is not None
    up, down = figure.marks
    assert up.x == [0, 1, 2, 3, 4]
    assert up.y[-1] == pytest.approx(4 * 5 * 180_000 / 1e6)
    assert down.y[-1] == pytest.approx(4 * (5 * 180_000 + 900) / 1e6)


def test_seconds_stack_by_phase_for_one_run_and_average_for_several() -> None:
    metrics = [{"round": n, "seconds": {"train": float(n), "evaluate": 1.0}} for n in (1, 2, 3)]
    runs = [RunRecord(Path(s), {"strategy": s}, metrics, {}, None, s) for s in ("fedavg", "fedssa")]
    single, several = seconds_figure(runs[:1]), seconds_figure(runs)
    assert single is not None
    assert several is not None
    assert {bars.look.name: bars.y for bars in single.marks} == {"train": [1, 2, 3], "evaluate": [1, 1, 1]}
    assert several.plot.x.title == "Seconds per round"
    assert {bars.look.name: bars.x for bars in several.marks} == {"train": [2, 2], "evaluate": [1, 1]}
