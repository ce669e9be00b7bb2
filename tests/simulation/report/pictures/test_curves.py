"""What the curves hold: means over seeds, bands, and a colour for each configuration."""

from __future__ import annotations

import numpy as np
import pytest

from fl_runs.reading import read_run, read_runs
from simulation.report.pictures.costs import traffic_figure
from simulation.report.pictures.curves import extra_figures, further_figures, headline_figure, loss_figure
from simulation.report.pictures.drawing import PALETTE
from tests.runs.made_runs import MakeRun, record
from tests.simulation.report.headline_runs import scored


def test_seeds_become_mean_and_band() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 1: 0.4, 2: 0.6}), record("fedavg", 2, {0: 0.1, 1: 0.6})]
    figure = headline_figure(runs)
    assert figure is not None
    (line,) = figure.marks
    assert line.x == [0, 1]
    assert line.y == pytest.approx([0.1, 0.5])
    spread = 0.2 / np.sqrt(2)
    assert line.spread == pytest.approx([0, spread], abs=1e-6)


def test_a_single_run_is_a_line_without_a_band_and_missing_values_are_left_out() -> None:
    run = record("fedavg", 1, {0: 0.1, 1: float("nan"), 2: 0.5})
    figure = headline_figure([run])
    assert figure is not None
    (line,) = figure.marks
    assert line.x == [0, 2] and line.spread is None


def test_a_configuration_keeps_its_colour_in_every_figure(make_run: MakeRun) -> None:
    runs = read_runs([make_run(s, strategy=s, seed=1, rounds=3) for s in ("fedavg", "fedssa", "scaffold")])
    del runs[0].metrics[1]["train/loss"], runs[0].metrics[2]["train/loss"], runs[0].metrics[3]["train/loss"]
    figures = [headline_figure(runs), loss_figure(runs, "train/loss"), traffic_figure(runs)]
    colours: dict[str, set[str]] = {}
    for figure in figures:
        assert figure is not None
        for line in figure.marks:
            colours.setdefault(line.look.name, set()).add(line.look.colour)
    assert colours == {name: {PALETTE[i]} for i, name in enumerate(("fedavg", "fedssa", "scaffold"))}


def test_extra_figures_are_the_methods_own_numbers_only(make_run: MakeRun) -> None:
    figures = extra_figures([read_run(make_run(rounds=3, extra=True))])
    assert sorted(figures) == ["disco/effective_clients", "ssa/loss_cos"]
    assert extra_figures([read_run(make_run("plain", rounds=3))]) == {}


def test_the_first_curve_is_the_headlines_and_other_metrics_have_one_each() -> None:
    run = scored("fedavg", "auroc", [0.5, 0.75])
    run.metrics[1] |= {"global/accuracy": 0.4, "global/loss": 2.0, "personal/auroc": 0.6, "ssa/loss_cos": 0.1}
    first, further = headline_figure([run]), further_figures([run])
    assert first is not None
    assert (first.marks[0].y, first.plot.y.title) == ([0.5, 0.75], "auroc")
    assert first.plot.y.unit == "number"
    assert {key: figure.marks[0].y for key, figure in further.items()} == {
        "global/accuracy": [0.4],
        "personal/auroc": [0.6],
    }
    assert further["global/accuracy"].plot.y.unit == "share"
    assert list(extra_figures([run])) == ["ssa/loss_cos"]


def test_runs_from_before_headlines_keep_their_clients_figures_among_the_methods_numbers() -> None:
    run = record("fedper", 1, {0: 0.1, 1: 0.5})
    run.metrics[1]["personal/accuracy"] = 0.9
    assert further_figures([run]) == {}
    assert list(extra_figures([run])) == ["personal/accuracy"]
