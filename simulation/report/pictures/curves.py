"""Curves over the rounds: the headline, losses, further metrics, and any number that a method reports of its own.

Runs that differ in their seed only become one line, their mean, within a band of one sample standard deviation to
either side, over the rounds that all of them have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fl_runs.reading import RunGroup, RunRecord, group_runs, is_number
from simulation.report.headline import shared_headline, title_of, unit_of
from simulation.report.pictures.drawing import look_of, short, thin
from simulation.report.pictures.figure import Figure, Line, lines_plot

FORMAT_KEYS = frozenset(
    ("round", "global/loss", "train/loss", "bytes_up", "bytes_down", "cohort", "weights", "dropped")
)
MOST_POINTS = 600
MOST_DOTTED = 40  # points on a line: markers tell lines apart without colour, but on long runs they would hide the line

Curve = tuple[list[int], np.ndarray, np.ndarray | None]  # rounds, mean, deviation over seeds


def headline_figure(runs: Sequence[RunRecord]) -> Figure | None:
    headline = shared_headline(runs)
    return curve_figure(runs, f"global/{headline.key}", title_of(headline), height=460)


def loss_figure(runs: Sequence[RunRecord], key: str = "global/loss") -> Figure | None:
    return curve_figure(runs, key, "Loss")


def further_figures(runs: Sequence[RunRecord]) -> dict[str, Figure]:
    """One figure for each metric that is recorded beside the headline and the loss."""
    return _figures(runs, [key for key in _number_keys(runs) if _is_metric(key, runs)])


def extra_figures(runs: Sequence[RunRecord]) -> dict[str, Figure]:
    """One figure for each number that a method reports of its own, under its key, such as `ssa/loss_cos`."""
    return _figures(runs, [key for key in _number_keys(runs) if not _is_metric(key, runs)])


def _number_keys(runs: Sequence[RunRecord]) -> list[str]:
    """What the runs record as single numbers, without what has a figure anyway."""
    keys = {key for run in runs for line in run.metrics for key, value in line.items() if is_number(value)}
    return sorted(keys - FORMAT_KEYS - {f"global/{shared_headline(runs).key}"})


def _is_metric(key: str, runs: Sequence[RunRecord]) -> bool:
    """Clients' figures are metrics of the run, except before there were headlines: then only some methods had them."""
    return key.startswith("global/") or (key.startswith("personal/") and any(run.says_headline for run in runs))


def _figures(runs: Sequence[RunRecord], keys: Sequence[str]) -> dict[str, Figure]:
    return {key: figure for key in keys if (figure := curve_figure(runs, key, key)) is not None}


def curve_figure(runs: Sequence[RunRecord], key: str, title: str, height: int = 360) -> Figure | None:
    """`key` over the rounds, with one line per configuration."""
    plot = lines_plot("Round", title, unit_of(key))
    for index, group in enumerate(group_runs(runs)):
        plot.marks += curve_lines(group, index, across_seeds([run.series(key) for run in group.runs]))
    return Figure([plot], height, "column", legend=True) if plot.marks else None


def across_seeds(series: Sequence[Mapping[int, float]]) -> Curve:
    """The rounds that every non-empty series has, the mean there, and the sample deviation if there are several."""
    series = [one for one in series if one]
    rounds = sorted(set.intersection(*(set(one) for one in series))) if series else []
    values = np.array([[one[number] for number in rounds] for one in series], dtype=float)
    values = values.reshape(len(series), len(rounds))
    mean = values.mean(axis=0) if series else np.zeros(0)
    return rounds, mean, values.std(axis=0, ddof=1) if len(series) > 1 else None


def curve_lines(group: RunGroup, index: int, curve: Curve) -> list[Line]:
    """The line of a configuration with its band, or nothing where it has no round."""
    rounds, mean, deviation = curve
    if not rounds:
        return []
    keep = thin(len(rounds), MOST_POINTS)
    spread = None if deviation is None else [short(deviation[i]) for i in keep]
    line = Line(look_of(group, index), [rounds[i] for i in keep], [short(mean[i]) for i in keep], spread)
    line.dotted = len(keep) <= MOST_DOTTED
    return [line]
