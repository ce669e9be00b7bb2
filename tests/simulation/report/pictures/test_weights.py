"""Weights stand where client and round meet."""

from __future__ import annotations

from pathlib import Path

from fl_runs.reading import RunRecord
from simulation.report.pictures.weights import weights_figure


def test_weights_are_placed_by_client_and_round_and_blank_elsewhere() -> None:
    metrics = [
        {"round": 0, "global/accuracy": 0.1},
        {"round": 1, "cohort": [10, 2], "weights": [0.25, 0.75]},
        {"round": 2, "cohort": [2], "weights": [1.0]},
    ]
    figure = weights_figure(RunRecord(Path("r"), {}, metrics, {}, None, "r"))
    assert figure is not None
    (cells,) = figure.marks
    assert (figure.plot.x.names, figure.plot.y.names) == ([1, 2], ["2", "10"])
    assert cells.values == [[0.75, 1.0], [0.25, None]]


def test_long_runs_average_the_weights_of_neighbouring_rounds() -> None:
    metrics = [{"round": n, "cohort": ["a"], "weights": [n % 2 * 1.0]} for n in range(1, 601)]
    figure = weights_figure(RunRecord(Path("r"), {}, metrics, {}, None, "r"))
    assert figure is not None
    assert len(figure.plot.x.names or []) == 300
    assert set(figure.marks[0].values[0]) == {0.5}
