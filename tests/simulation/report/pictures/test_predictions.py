"""What the pictures of the confusion matrix and the calibration hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fl_runs.reading import RunRecord
from fl_tasks.metrics import METRICS
from simulation.report.pictures.predictions import (
    MOST_CLASSES,
    calibration_figure,
    confusion_figure,
    expected_calibration_error,
)
from tests.simulation.report.headline_runs import CALIBRATION, CONFUSION, scored


def with_tables(**tables: Any) -> RunRecord:
    return scored("fedavg", "auroc", [0.5], tables=tables)


def test_rows_are_true_classes_and_shades_are_shares_of_the_row() -> None:
    run = with_tables(confusion=CONFUSION)
    run.partition = {"class_names": ["ill", "<b>well"], "client_ids": [], "counts": []}
    figure = confusion_figure(run)
    assert figure is not None
    (cells,) = figure.marks
    assert figure.plot.x.names == figure.plot.y.names == ["ill", "<b>well"]
    np.testing.assert_allclose(cells.values, [[43 / 97, 54 / 97], [1 / 83, 82 / 83]], rtol=1e-5)
    assert cells.notes == [[43, 54], [1, 82]]
    assert cells.texts == [["43", "54"], ["1", "82"]]
    assert (figure.plot.x.title, figure.plot.y.title) == ("Predicted class", "True class")


def test_a_class_without_examples_is_blank() -> None:
    figure = confusion_figure(with_tables(confusion=[[0, 0], [1, 3]]))
    assert figure is not None
    assert figure.marks[0].values == [[None, None], [0.25, 0.75]]


def test_of_many_classes_the_least_accurate_are_shown_with_shares_of_the_whole_row() -> None:
    classes = MOST_CLASSES + 40
    matrix = np.eye(classes, dtype=int) * 10
    matrix[5, 5], matrix[5, 99] = 2, 8  # class 99 is right, and among the last of equally good ones
    figure = confusion_figure(with_tables(confusion=matrix.tolist()))
    assert figure is not None
    (cells,) = figure.marks
    assert figure.plot.x.names == [str(c) for c in range(MOST_CLASSES)]
    assert cells.values[5][5] == pytest.approx(0.2) and sum(cells.values[5]) == pytest.approx(0.2)


def test_the_reliability_diagram_has_filled_bins_and_the_error() -> None:
    figure = calibration_figure(with_tables(calibration=CALIBRATION))
    assert figure is not None
    bars, diagonal, shares = figure.marks
    assert (bars.x, bars.y, bars.widths) == ([0.625, 0.875], [0.8, 0.5], [0.25, 0.25])
    assert bars.notes == ["60.0% sure\n30 examples", "90.0% sure\n10 examples"]
    assert (diagonal.x, diagonal.y) == ([0, 1], [0, 1])
    assert shares.y == [0.75, 0.25]
    # (30 * |0.8 - 0.6| + 10 * |0.5 - 0.9|) / 40
    assert expected_calibration_error(CALIBRATION) == pytest.approx(0.25)
    assert figure.plot.note == "ECE 0.2500"


def test_the_error_is_the_metric_ece() -> None:
    random = np.random.default_rng(0)
    outputs, labels = random.normal(size=(200, 4)) * 2, random.integers(0, 4, 200)
    bins = METRICS["calibration"](outputs, labels)
    assert expected_calibration_error(bins) == pytest.approx(METRICS["ece"](outputs, labels), rel=1e-12)


def test_a_run_without_tables_has_neither_picture() -> None:
    for tables in ({}, {"confusion": [], "calibration": CALIBRATION[:1]}, {"confusion": [[0, 0], [0, 0]]}):
        assert confusion_figure(with_tables(**tables)) is None
        assert calibration_figure(with_tables(**tables)) is None
