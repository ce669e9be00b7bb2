"""Every section has its figures where the runs have the data, and is left out where they do not."""

from __future__ import annotations

from fl_runs.reading import read_run
from simulation.report.pictures.figure import Figure
from simulation.report.sections import SECTIONS
from tests.runs.made_runs import MakeRun
from tests.simulation.report.headline_runs import scored, with_headline


def test_a_run_with_nothing_but_training_has_only_those_sections(make_run: MakeRun) -> None:
    run = read_run(make_run(eval_every=0, partition=False, rounds=3))
    shown = [name for name, build in SECTIONS if (panel := build([run])) is not None and panel.figures]
    assert shown == ["Training loss", "Weights of the clients", "Traffic", "Time"]


def test_every_section_returns_figures_and_a_sentence(make_run: MakeRun) -> None:
    run = read_run(with_headline(make_run(rounds=5, extra=True)))
    for name, build in SECTIONS:
        panel = build([run])
        assert panel is not None, name
        assert panel.caption.endswith(".")
        assert all(isinstance(figure, Figure) for figure in panel.figures.values())


def test_a_run_by_accuracy_has_the_sections_that_it_always_had(make_run: MakeRun) -> None:
    run = read_run(make_run(rounds=5))
    shown = [panel.title or name for name, build in SECTIONS if (panel := build([run])) is not None]
    first = ["Accuracy", "Evaluation loss", "Training loss", "Accuracy by class", "Classes over time"]
    assert shown == [
        *first,
        "Who is served well",
        "Who holds what",
        "Class balance",
        "Weights of the clients",
        "Traffic",
        "Time",
    ]


def test_sections_are_named_after_the_headline(make_run: MakeRun) -> None:
    run = read_run(with_headline(make_run(rounds=5, extra=True)))
    panels = {panel.title or name: panel for name, build in SECTIONS if (panel := build([run])) is not None}
    assert next(iter(panels)) == "macro-f1"
    assert panels["macro-f1"].caption.startswith("The macro-f1 of the global model")
    assert list(panels["Further metrics"].figures) == ["global/accuracy"]
    assert {"macro-f1 by client", "macro-f1 over the clients", "macro-f1 by cluster"} < panels.keys()
    assert "further right" in panels["macro-f1 over the clients"].caption


def test_an_error_is_better_further_left_and_a_loss_has_one_curve() -> None:
    run = scored("fedavg", "loss", [3.0, 2.0], better="less", clients={"a": 1.0, "b": 2.0})
    panels = {panel.title or name: panel for name, build in SECTIONS if (panel := build([run])) is not None}
    assert list(panels) == ["loss", "loss by client", "loss over the clients"]
    assert "less is better" in panels["loss"].caption
    assert "further left" in panels["loss over the clients"].caption
