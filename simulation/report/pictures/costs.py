"""What runs cost: megabytes sent and seconds spent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from fl_runs.reading import RunRecord, group_runs, is_number
from simulation.report.pictures.curves import across_seeds, curve_traces
from simulation.report.pictures.drawing import (
    MOST_COLUMNS,
    MUTED,
    bins,
    blank_figure,
    mean_of,
    plain_text,
    short,
    whole_rounds,
)

PHASES = ("sample", "send", "train", "aggregate", "evaluate", "checkpoint")
TRAFFIC_WAYS = ("clients to server", "server to clients")


def traffic_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Megabytes (10^6 bytes) sent so far: both ways stacked for one configuration, their sum for several."""
    groups = group_runs(runs)
    figure = blank_figure("Round", "MB so far", hovermode="x unified")
    for index, group in enumerate(groups):
        ways = [across_seeds([_cumulative_mb(run, key) for run in group.runs]) for key in ("bytes_up", "bytes_down")]
        if len(groups) == 1:
            for way, (name, (rounds, mean, _)) in enumerate(zip(TRAFFIC_WAYS, ways, strict=True)):
                for trace in curve_traces(group, way, (rounds, mean, None), ",.4~g"):
                    figure.add_trace(trace.update(name=name, mode="lines", stackgroup="ways"))
        elif ways[0][0] == ways[1][0]:
            for trace in curve_traces(group, index, (ways[0][0], ways[0][1] + ways[1][1], None), ",.4~g"):
                figure.add_trace(trace)
    figure.update_yaxes(rangemode="tozero")
    return whole_rounds(figure) if figure.data else None


def seconds_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Seconds by phase, stacked: in each round of a single run, or in the mean round of each configuration."""
    timed = [run for run in runs if any(isinstance(line.get("seconds"), dict) for line in run.metrics)]
    if not timed:
        return None
    return _seconds_by_round(timed[0]) if len(timed) == 1 else _seconds_by_configuration(timed)


def _seconds_by_round(run: RunRecord) -> go.Figure | None:
    rounds, phases = _seconds(run)
    columns = bins(len(rounds), MOST_COLUMNS)
    figure = blank_figure("Round", "Seconds", barmode="stack", hovermode="x unified", bargap=0.1)
    figure.update_layout(bargap=0.1 if len(columns) <= 80 else 0)
    for phase, colour in _phase_colours([run]).items():
        if phase in phases:
            values = [short(float(np.mean([phases[phase][i] for i in members]))) for members in columns]
            x = [rounds[members[0]] for members in columns]
            marker = {"color": colour, "line": {"width": 0}}
            figure.add_trace(go.Bar(x=x, y=values, name=plain_text(phase), marker=marker, hovertemplate="%{y:.3~g} s"))
    return whole_rounds(figure) if figure.data else None


def _seconds_by_configuration(runs: Sequence[RunRecord]) -> go.Figure | None:
    groups = group_runs(runs)
    figure = blank_figure("Round", "Seconds", barmode="stack", hovermode="y unified", bargap=0.1)
    figure.update_layout(height=max(280, 130 + 40 * len(groups)))
    labels = [_folded(group.label) for group in groups]
    for phase, colour in _phase_colours(runs).items():
        means = [mean_of([v for run in group.runs for v in _seconds(run)[1].get(phase, [])]) for group in groups]
        if any(value is not None for value in means):
            bar = {"marker": {"color": colour}, "hovertemplate": "%{x:.3~g} s"}
            figure.add_trace(go.Bar(y=labels, x=means, orientation="h", name=plain_text(phase), **bar))
    figure.update_xaxes(title_text="Seconds per round", showgrid=True)
    figure.update_yaxes(title_text=None, type="category", autorange="reversed", showgrid=False)
    return figure if figure.data else None


def _phase_colours(runs: Sequence[RunRecord]) -> dict[str, str]:
    """The colour of each phase: those of every run in the order of a round, then those of these runs only."""
    names = dict.fromkeys([*PHASES, *(phase for run in runs for phase in _seconds(run)[1])])
    return {phase: MUTED[index % len(MUTED)] for index, phase in enumerate(names)}


def _seconds(run: RunRecord) -> tuple[list[int], dict[str, list[float]]]:
    """The rounds that were timed, and the seconds of each phase there (0 where a round did not have the phase)."""
    timed = [(line["round"], line["seconds"]) for line in run.metrics if isinstance(line.get("seconds"), dict)]
    names = dict.fromkeys(name for _, spent in timed for name, value in spent.items() if is_number(value))
    phases = {name: [float(s[name]) if is_number(s.get(name)) else 0.0 for _, s in timed] for name in names}
    return [number for number, _ in timed], phases


def _cumulative_mb(run: RunRecord, key: str) -> dict[int, float]:
    """Megabytes sent by the end of each round, and 0 before the first."""
    series = run.series(key)
    if not series:
        return {}
    totals = np.cumsum([0.0, *series.values()]) / 1e6
    return dict(zip([min(series) - 1, *series], totals.tolist(), strict=True))


def _folded(label: str) -> str:
    """The label broken into short lines, so that an axis leaves room for its bars on a phone."""
    parts = label.split(" · ")
    return "<br>".join(plain_text(part if len(part) <= 24 else part[:23] + "…") for part in parts)
