"""Pictures by class: how accurate the model is on each, over time too, and how common each is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from fl_runs.reading import RunRecord, group_runs, is_number
from simulation.report.pictures.drawing import (
    MOST_COLUMNS,
    MUTED,
    SYMBOLS,
    blank_figure,
    coloraxis,
    colour_of,
    identity_of,
    map_height,
    mean_of,
    plain_text,
    short,
    thin,
    whole_rounds,
)


def class_accuracy_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Accuracy per class at the last evaluation: bars for one configuration, dots for several."""
    groups = group_runs(runs)
    figure = blank_figure("Class", "Accuracy", hovermode="x unified", barmode="group", bargap=0.25)
    figure.update_layout(scattermode="group", scattergap=0.35)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    for index, group in enumerate(groups):
        rows = [row for row in map(last_class_accuracy, group.runs) if row]
        if not rows or len({len(row) for row in rows}) > 1:
            continue
        mean = [mean_of(column) for column in zip(*rows, strict=True)]
        spread = [_deviation(column) for column in zip(*rows, strict=True)] if len(rows) > 1 else None
        look: dict[str, Any] = {"x": class_names(group.runs[0], len(mean)), "y": mean, **identity_of(group, index)}
        look["hovertemplate"] = "%{y:.1%}" if spread is None else "%{y:.1%} ± %{error_y.array:.1%}"
        if spread is not None:
            look["error_y"] = {"type": "data", "array": spread, "thickness": 1, "width": 0}
        marker = {"color": colour_of(index)}
        if len(groups) == 1:
            figure.add_trace(go.Bar(**look, marker=marker))
        else:
            symbol = {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8, "opacity": 0.9}
            figure.add_trace(go.Scatter(**look, mode="markers", marker=marker | symbol, offsetgroup=str(index)))
    figure.update_xaxes(type="category", showdividers=True)
    return figure if figure.data else None


def class_history_figure(run: RunRecord) -> go.Figure | None:
    """A map of the accuracy per class over the rounds, which shows what is learned late or forgotten."""
    lines = [line for line in run.metrics if isinstance(line.get("global/class_accuracy"), list)]
    if len(lines) < 3:
        return None
    lines = [lines[position] for position in thin(len(lines), MOST_COLUMNS)]
    values = [[_finite(value) for value in line["global/class_accuracy"]] for line in lines]
    if len({len(row) for row in values}) > 1:
        return None
    figure = blank_figure("Round", None, height=map_height(len(values[0])))
    template = "round %{x}, %{y}: %{z:.1%}<extra></extra>"
    rounds = [line["round"] for line in lines]
    names = class_names(run, len(values[0]))
    transposed = [list(row) for row in zip(*values, strict=True)]
    figure.add_trace(go.Heatmap(x=rounds, y=names, z=transposed, coloraxis="coloraxis", hovertemplate=template))
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    figure.update_layout(coloraxis=coloraxis("Accuracy", tickformat=".0%", cmin=0, cmax=1))
    return whole_rounds(figure)


def class_balance_figure(partition: Mapping[str, Any]) -> go.Figure | None:
    """Share of each class in all clients' data beside its share in the data that the server evaluates on."""
    target = partition.get("target_counts")
    pooled = np.asarray(partition["counts"], dtype=float).sum(axis=0)
    if not target or not pooled.sum() or not sum(target):
        return None
    figure = blank_figure("Class", "Share", height=280, hovermode="x unified", barmode="group", bargap=0.25)
    names = [plain_text(name) for name in partition["class_names"]]
    shares = {"all clients": pooled / pooled.sum(), "evaluation": np.asarray(target, dtype=float) / sum(target)}
    for index, (name, share) in enumerate(shares.items()):
        look = {"marker": {"color": MUTED[2 + index]}, "hovertemplate": "%{y:.1%}"}
        figure.add_trace(go.Bar(x=names, y=[short(value) for value in share], name=name, **look))
    figure.update_xaxes(type="category")
    figure.update_yaxes(tickformat=".0%")
    return figure


def last_class_accuracy(run: RunRecord) -> list[float | None] | None:
    for line in reversed(run.metrics):
        if isinstance(line.get("global/class_accuracy"), list) and line["global/class_accuracy"]:
            return [_finite(value) for value in line["global/class_accuracy"]]
    return None


def class_names(run: RunRecord, count: int) -> list[str]:
    names = run.partition["class_names"] if run.partition else []
    return [plain_text(name) for name in names] if len(names) == count else [str(index) for index in range(count)]


def class_label(run: RunRecord, index: int) -> str:
    """The class's own name as plain text, or its number where the run does not name its classes."""
    names = run.partition["class_names"] if run.partition else []
    return str(names[index]) if index < len(names) else str(index)


def _deviation(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(float(np.std(known, ddof=1))) if len(known) > 1 else None


def _finite(value: Any) -> float | None:
    return short(value) if is_number(value) else None
