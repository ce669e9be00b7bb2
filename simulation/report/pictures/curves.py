"""Curves over the rounds: the headline, losses, further metrics, and any number that a method reports of its own.

Runs that differ in their seed only become one line, their mean, within a band of one sample standard deviation to
either side, over the rounds that all of them have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from fl_runs.reading import RunGroup, RunRecord, group_runs, is_number
from simulation.report.headline import hover_format, shared_headline, tick_format, title_of
from simulation.report.pictures.drawing import (
    DASHES,
    PALETTE,
    SYMBOLS,
    blank_figure,
    colour_of,
    identity_of,
    short,
    thin,
    whole_rounds,
)

FORMAT_KEYS = frozenset(
    ("round", "global/loss", "train/loss", "bytes_up", "bytes_down", "cohort", "weights", "dropped")
)
MOST_POINTS = 1500
LARGE, DECIMAL = 10_000, ",.4~r"  # from here on numbers are written as 28,000, where the usual format gives 2.8e+4

Curve = tuple[list[int], np.ndarray, np.ndarray | None]  # rounds, mean, deviation over seeds


def headline_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    headline = shared_headline(runs)
    return curve_figure(runs, f"global/{headline.key}", title_of(headline), height=460)


def loss_figure(runs: Sequence[RunRecord], key: str = "global/loss") -> go.Figure | None:
    return curve_figure(runs, key, "Loss")


def further_figures(runs: Sequence[RunRecord]) -> dict[str, go.Figure]:
    """One figure for each metric that is recorded beside the headline and the loss."""
    return _figures(runs, [key for key in _number_keys(runs) if _is_metric(key, runs)])


def extra_figures(runs: Sequence[RunRecord]) -> dict[str, go.Figure]:
    """One figure for each number that a method reports of its own, under its key, such as `ssa/loss_cos`."""
    return _figures(runs, [key for key in _number_keys(runs) if not _is_metric(key, runs)])


def _number_keys(runs: Sequence[RunRecord]) -> list[str]:
    """What the runs record as single numbers, without what has a figure anyway."""
    keys = {key for run in runs for line in run.metrics for key, value in line.items() if is_number(value)}
    return sorted(keys - FORMAT_KEYS - {f"global/{shared_headline(runs).key}"})


def _is_metric(key: str, runs: Sequence[RunRecord]) -> bool:
    """Clients' figures are metrics of the run, except before there were headlines: then only some methods had them."""
    return key.startswith("global/") or (key.startswith("personal/") and any(run.says_headline for run in runs))


def _figures(runs: Sequence[RunRecord], keys: Sequence[str]) -> dict[str, go.Figure]:
    return {key: figure for key in keys if (figure := curve_figure(runs, key, key)) is not None}


def curve_figure(runs: Sequence[RunRecord], key: str, title: str, height: int = 360) -> go.Figure | None:
    """`key` over the rounds, with one line per configuration."""
    figure = blank_figure("Round", title, hovermode="x unified")
    groups = group_runs(runs)
    series = [[run.series(key) for run in group.runs] for group in groups]
    large = max((abs(v) for of_group in series for one in of_group for v in one.values()), default=0.0) >= LARGE
    number = DECIMAL if large else hover_format(key)
    figure.update_yaxes(tickformat=DECIMAL if large else tick_format(key))
    figure.update_layout(height=height)
    for index, (group, of_group) in enumerate(zip(groups, series, strict=True)):
        figure.add_traces(curve_traces(group, index, across_seeds(of_group), number))
    return whole_rounds(figure) if figure.data else None


def across_seeds(series: Sequence[Mapping[int, float]]) -> Curve:
    """The rounds that every non-empty series has, the mean there, and the sample deviation if there are several."""
    series = [one for one in series if one]
    rounds = sorted(set.intersection(*(set(one) for one in series))) if series else []
    values = np.array([[one[number] for number in rounds] for one in series], dtype=float)
    values = values.reshape(len(series), len(rounds))
    mean = values.mean(axis=0) if series else np.zeros(0)
    return rounds, mean, values.std(axis=0, ddof=1) if len(series) > 1 else None


def curve_traces(group: RunGroup, index: int, curve: Curve, number: str) -> list[go.Scatter]:
    rounds, mean, deviation = curve
    if not rounds:
        return []
    keep = thin(len(rounds), MOST_POINTS)
    x, y = [rounds[i] for i in keep], [short(mean[i]) for i in keep]
    style = {"color": colour_of(index), "width": 2, "dash": DASHES[index // len(PALETTE) % len(DASHES)]}
    line = go.Scatter(x=x, y=y, line=style, **identity_of(group, index), hovertemplate=f"%{{y:{number}}}")
    # Markers tell lines apart without colour; on long runs they would hide the line.
    line.update(mode="lines+markers" if len(x) <= 40 else "lines")
    line.update(marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 6 if len(x) > 1 else 10})
    if deviation is None:
        return [line]
    spread = [short(deviation[i]) for i in keep]
    line.update(customdata=spread, hovertemplate=f"%{{y:{number}}} ± %{{customdata:{number}}}")
    edge = [a + b for a, b in zip(y, spread, strict=True)] + [a - b for a, b in zip(y, spread, strict=True)][::-1]
    band = go.Scatter(x=x + x[::-1], y=[short(v) for v in edge], fill="toself", mode="lines", line={"width": 0})
    band.update(
        fillcolor=_translucent(colour_of(index)), hoverinfo="skip", **identity_of(group, index) | {"showlegend": False}
    )
    return [band, line]


def _translucent(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
