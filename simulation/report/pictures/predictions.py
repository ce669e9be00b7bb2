"""Pictures of the final model's tables: what it takes each class for, and how far it can be trusted when it is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fl_runs.reading import RunRecord, is_number
from simulation.report.pictures.classes import class_names
from simulation.report.pictures.drawing import MUTED, axis_title, blank_figure, coloraxis, layout_of, short

MOST_CLASSES = 60  # of more, the ones with the lowest accuracy are drawn
HEIGHT = 450  # the two stand side by side
MOST_NUMBERS = 10  # classes whose counts fit into their cells


def confusion_figure(run: RunRecord) -> go.Figure | None:
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
    cells = go.Heatmap(x=labels, y=labels, z=known, coloraxis="coloraxis", hoverongaps=False)
    counts = [[[int(v), int(total)] for v in row] for row, total in zip(matrix[cut], totals[shown, 0], strict=True)]
    cells.update(customdata=counts)
    cells.update(
        hovertemplate="true %{y}, predicted %{x}: %{z:.1%}<br>%{customdata[0]:,} of %{customdata[1]:,} examples<extra></extra>"
    )
    if len(labels) <= MOST_NUMBERS:
        cells.update(xgap=2, ygap=2, text=[[f"{one[0]}" for one in row] for row in counts], texttemplate="%{text}")
    figure = blank_figure("Predicted class", "True class", height=min(620, max(HEIGHT, 150 + 30 * len(labels))))
    figure.add_trace(cells)
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return figure.update_layout(coloraxis=coloraxis("Share of the row", tickformat=".0%", cmin=0, cmax=1))


def calibration_figure(run: RunRecord) -> go.Figure | None:
    """The reliability diagram: accuracy by confidence, above the share of the examples with such a confidence."""
    bins = [one for one in run.tables.get("calibration") or [] if one["count"] and is_number(one.get("accuracy"))]
    if not bins:
        return None
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.76, 0.24], vertical_spacing=0.06)
    figure.update_layout(**layout_of(height=HEIGHT, showlegend=False, bargap=0))
    middles = [short((one["above"] + one["to"]) / 2) for one in bins]
    look: dict[str, Any] = {"x": middles, "width": [short(one["to"] - one["above"]) for one in bins]}
    total = sum(one["count"] for one in bins)
    told = [[short(one["confidence"]), one["count"]] for one in bins]
    bars = go.Bar(**look, y=[short(one["accuracy"]) for one in bins], customdata=told, marker={"color": MUTED[2]})
    bars.update(hovertemplate="%{customdata[0]:.1%} sure, %{y:.1%} right<br>%{customdata[1]:,} examples<extra></extra>")
    figure.add_trace(bars, row=1, col=1)
    line = {"color": MUTED[0], "width": 2, "dash": "dot"}
    figure.add_trace(go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip"), row=1, col=1)
    shares = go.Bar(**look, y=[short(one["count"] / total) for one in bins], marker={"color": MUTED[0]})
    shares.update(hovertemplate="%{y:.1%} of the examples<extra></extra>")
    figure.add_trace(shares, row=2, col=1)
    note = {"text": f"ECE {expected_calibration_error(bins):.4f}", "x": 0.03, "y": 0.97, "showarrow": False}
    figure.add_annotation(**note, xref="x domain", yref="y domain", xanchor="left", yanchor="top")
    figure.update_layout(margin_r=26)  # half of the last tick's label
    figure.update_xaxes(range=[0, 1], dtick=0.2, tickformat=".0%", showgrid=False, zeroline=False, automargin=True)
    figure.update_xaxes(title=axis_title("Confidence, the largest probability"), row=2, col=1)
    figure.update_yaxes(tickformat=".0%", zeroline=False, automargin=True)
    figure.update_yaxes(title=axis_title("Accuracy"), range=[0, 1.02], row=1, col=1)
    figure.update_yaxes(title=axis_title("Examples"), nticks=3, rangemode="tozero", row=2, col=1)
    return figure


def expected_calibration_error(bins: Sequence[Mapping[str, Any]]) -> float:
    """Mean |accuracy - confidence| over the bins, by their examples."""
    filled = [one for one in bins if one["count"]]
    away = sum(one["count"] * abs(one["accuracy"] - one["confidence"]) for one in filled)
    return float(away / sum(one["count"] for one in filled))


def _hardest(accuracy: np.ndarray) -> list[int]:
    """All classes, or the least accurate ones of many, in their order."""
    return sorted(np.argsort(accuracy, kind="stable")[:MOST_CLASSES].tolist())
