"""Pictures by class: how accurate the model is on each, over time too, and how common each is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fl_runs.reading import RunRecord, group_runs, is_number
from simulation.report.pictures.drawing import MOST_COLUMNS, MUTED, look_of, map_height, mean_of, short, thin
from simulation.report.pictures.figure import Axis, Bars, Cells, Dots, Figure, Look, Mark, Plot, Shades, names_axis


def class_accuracy_figure(runs: Sequence[RunRecord]) -> Figure | None:
    """Accuracy per class at the last evaluation: bars for one configuration, dots for several."""
    groups = group_runs(runs)
    marks: list[Mark] = []
    places: dict[str, None] = {}
    for index, group in enumerate(groups):
        rows = [row for row in map(last_class_accuracy, group.runs) if row]
        if not rows or len({len(row) for row in rows}) > 1:
            continue
        mean = [mean_of(column) for column in zip(*rows, strict=True)]
        spread = [_deviation(column) for column in zip(*rows, strict=True)] if len(rows) > 1 else None
        names = class_names(group.runs[0], len(mean))
        places |= dict.fromkeys(names)
        kind = Bars if len(groups) == 1 else Dots
        marks.append(kind(look_of(group, index), names, mean, spread))
    plot = Plot(names_axis("Class", list(places)), Axis("Accuracy", "share", low=0, high=1), marks)
    return Figure([plot], 360, "column", legend=True) if marks else None


def class_history_figure(run: RunRecord, most_columns: int = MOST_COLUMNS) -> Figure | None:
    """A map of the accuracy per class over the rounds, which shows what is learned late or forgotten."""
    lines = [line for line in run.metrics if isinstance(line.get("global/class_accuracy"), list)]
    if len(lines) < 3:
        return None
    lines = [lines[position] for position in thin(len(lines), most_columns)]
    values = [[_finite(value) for value in line["global/class_accuracy"]] for line in lines]
    if len({len(row) for row in values}) > 1:
        return None
    cells = Cells([list(row) for row in zip(*values, strict=True)], "round {x}, {y}: {z}")
    x = Axis("Round", "round", [line["round"] for line in lines], grid=False)
    plot = Plot(x, names_axis("", class_names(run, len(values[0]))), [cells])
    return Figure([plot], map_height(len(values[0])), shades=Shades("Accuracy", 0, 1, "share"))


def class_balance_figure(partition: Mapping[str, Any]) -> Figure | None:
    """Share of each class in all clients' data beside its share in the data that the server evaluates on."""
    target = partition.get("target_counts")
    pooled = np.asarray(partition["counts"], dtype=float).sum(axis=0)
    if not target or not pooled.sum() or not sum(target):
        return None
    names = [str(name) for name in partition["class_names"]]
    plot = Plot(names_axis("Class", names), Axis("Share", "share", from_zero=True))
    shares = {"all clients": pooled / pooled.sum(), "evaluation": np.asarray(target, dtype=float) / sum(target)}
    for index, (name, share) in enumerate(shares.items()):
        plot.marks.append(Bars(Look(name, MUTED[2 + index]), names, [short(value) for value in share]))
    return Figure([plot], 280, "column", legend=True)


def last_class_accuracy(run: RunRecord) -> list[float | None] | None:
    for line in reversed(run.metrics):
        if isinstance(line.get("global/class_accuracy"), list) and line["global/class_accuracy"]:
            return [_finite(value) for value in line["global/class_accuracy"]]
    return None


def class_names(run: RunRecord, count: int) -> list[str]:
    """The names of the classes, or their numbers where the run does not name that many; equal names are told apart by theirs."""
    names = [str(name) for name in run.partition["class_names"]] if run.partition else []
    if len(names) != count or len(set(names)) != count:
        return [str(index) for index in range(count)]
    return names


def class_label(run: RunRecord, index: int) -> str:
    """The class's own name, or its number where the run does not name its classes."""
    names = run.partition["class_names"] if run.partition else []
    return str(names[index]) if index < len(names) else str(index)


def _deviation(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(float(np.std(known, ddof=1))) if len(known) > 1 else None


def _finite(value: Any) -> float | None:
    return short(value) if is_number(value) else None
