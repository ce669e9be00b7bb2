"""Every section has its figures where the runs have the data, and is left out where they do not."""

from __future__ import annotations

import plotly.graph_objects as go

from fl_runs.reading import read_run
from simulation.report.sections import SECTIONS
from tests.runs.made_runs import MakeRun


def test_a_run_with_nothing_but_training_has_only_those_sections(make_run: MakeRun) -> None:
    run = read_run(make_run(eval_every=0, partition=False, rounds=3))
    shown = [name for name, build in SECTIONS if (panel := build([run])) is not None and panel.figures]
    assert shown == ["Training loss", "Weights of the clients", "Traffic", "Time"]


def test_every_section_returns_figures_and_a_sentence(make_run: MakeRun) -> None:
    run = read_run(make_run(rounds=5, extra=True))
    for name, build in SECTIONS:
        panel = build([run])
        assert panel is not None, name
        assert panel.caption.endswith(".")
        assert all(isinstance(figure, go.Figure) for figure in panel.figures.values())
