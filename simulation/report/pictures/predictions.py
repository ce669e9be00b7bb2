"""Pictures of the final model's tables: what it takes each class for, and how far it can be trusted when it is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fl_runs.reading import RunRecord, is_number
from simulation.report.pictures.classes import class_names
from simulation.report.pictures.drawing import MUTED, short
from simulation.report.pictures.figure import Axis, Bars, Cells, Figure, Line, Look, Plot, Shades, names_axis

MOST_CLASSES = 60  # of more, the ones with the lowest accuracy are drawn
HEIGHT = 450  # the two stand side by side
MOST_NUMBERS = 10  # classes whose counts fit into their cells


def confusion_figure(run: RunRecord) -> Figure | None:
    """Examples by true class (rows) and predicted class (columns), shaded by their share of the row."""
    matrix = np.asarray(run.tables.get("confusion") or [], dtype=float)
    if not matrix.sum():
        return None
    totals = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(totals, 1)
    names = class_names(run, len(matrix))
    shown = _hardest(np.where(totals[:, 0] > 0, shares.diagonal(), 2.0))
    cut = np.ix_(shown, shown)
    labels = [names[c] for c in shown]
    known = [
        [short(v) if total else None for v in row] for row, total in zip(shares[cut], totals[shown, 0], strict=True)
    ]
    counts = matrix[cut].astype(int).tolist()
    cells = Cells(known, "true {y}, predicted {x}: {z}\n{note} examples")
    cells.notes = counts
    if len(labels) <= MOST_NUMBERS:
        cells.gaps, cells.texts = True, [[str(value or "") for value in row] for row in counts]
    plot = Plot(names_axis("Predicted class", labels), names_axis("True class", labels), [cells])
    height = min(620, max(HEIGHT, 150 + 30 * len(labels)))
    return Figure([plot], height, shades=Shades("Share of the row", 0, 1, "share"))


def calibration_figure(run: RunRecord) -> Figure | None:
    """The reliability diagram: accuracy by confidence, above the share of the examples with such a confidence."""
    bins = [one for one in run.tables.get("calibration") or [] if one["count"] and is_number(one.get("accuracy"))]
    if not bins:
        return None
    middles = [short((one["above"] + one["to"]) / 2) for one in bins]
    widths = [short(one["to"] - one["above"]) for one in bins]
    total = sum(one["count"] for one in bins)
    right = Bars(Look("accuracy", MUTED[2]), [*middles], [short(one["accuracy"]) for one in bins], widths=widths)
    right.notes = [f"{100 * one['confidence']:.1f}% sure\n{one['count']:,} examples" for one in bins]
    right.hover = "{y} right, {note}"
    diagonal = Line(Look("", MUTED[0], "dot"), [0, 1], [0, 1])
    shares = Bars(Look("examples", MUTED[0]), [*middles], [short(one["count"] / total) for one in bins], widths=widths)
    shares.hover = "{y} of the examples"
    note = f"ECE {expected_calibration_error(bins):.4f}"
    above = Plot(Axis("", "share", low=0, high=1, labelled=False, grid=False), Axis("Accuracy", "share", low=0, high=1))
    above.marks, above.share, above.note = [right, diagonal], 0.74, note
    x = Axis("Confidence, the largest probability", "share", low=0, high=1, grid=False)
    below = Plot(x, Axis("Examples", "share", from_zero=True), [shares], share=0.26)
    return Figure([above, below], HEIGHT)


def expected_calibration_error(bins: Sequence[Mapping[str, Any]]) -> float:
    """Mean |accuracy - confidence| over the bins, by their examples."""
    filled = [one for one in bins if one["count"]]
    away = sum(one["count"] * abs(one["accuracy"] - one["confidence"]) for one in filled)
    return float(away / sum(one["count"] for one in filled))


def _hardest(accuracy: np.ndarray) -> list[int]:
    """All classes, or the least accurate ones of many, in their order."""
    return sorted(np.argsort(accuracy, kind="stable")[:MOST_CLASSES].tolist())
