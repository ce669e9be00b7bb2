"""Accuracy per class."""

from __future__ import annotations

from pathlib import Path

from fl_runs.reading import RunRecord
from simulation.report.pictures.classes import class_accuracy_figure


def test_class_accuracy_is_the_last_one_with_unknown_classes_blank() -> None:
    metrics = [{"round": 0, "global/class_accuracy": [0.1, 0.2]}, {"round": 1, "global/class_accuracy": [0.5, None]}]
    figure = class_accuracy_figure([RunRecord(Path("r"), {}, [*metrics, {"round": 2}], {}, None, "r")])
    assert figure is not None
    assert figure.marks[0].y == [0.5, None]
