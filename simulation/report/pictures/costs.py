"""What runs cost: megabytes sent and seconds spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fl_runs.reading import RunRecord, group_runs, is_number
from simulation.report.pictures.curves import across_seeds, curve_lines
from simulation.report.pictures.drawing import MOST_COLUMNS, MUTED, bins, mean_of, short
from simulation.report.pictures.figure import Axis, Bars, Figure, Look, Plot, lines_plot, names_axis

PHASES = ("sample", "send", "train", "aggregate", "evaluate", "checkpoint")
TRAFFIC_WAYS = ("clients to server", "server to clients")


def traffic_figure(runs: Sequence[RunRecord]) -> Figure | None:
    """Megabytes (10^6 bytes) sent so far: both ways stacked for one configuration, their sum for several."""
    groups = group_runs(runs)
    plot = lines_plot("Round", "MB so far", from_zero=True)
    for index, group in enumerate(groups):
        ways = [across_seeds([_cumulative_mb(run, key) for run in group.runs]) for key in ("bytes_up", "bytes_down")]
        if len(groups) == 1:
            for way, (name, (rounds, mean, _)) in enumerate(zip(TRAFFIC_WAYS, ways, strict=True)):
                for line in curve_lines(group, way, (rounds, mean, None)):
                    line.look = Look(name, MUTED[2 + way])
                    line.stacked, line.dotted = True, False
                    plot.marks.append(line)
        elif ways[0][0] == ways[1][0]:
            plot.marks += curve_lines(group, index, (ways[0][0], ways[0][1] + ways[1][1], None))
    return Figure([plot], hover="column", legend=True) if plot.marks else None


def seconds_figure(runs: Sequence[RunRecord]) -> Figure | None:
    """Seconds by phase, stacked: in each round of a single run, or in the mean round of each configuration."""
    timed = [run for run in runs if any(isinstance(line.get("seconds"), dict) for line in run.metrics)]
    if not timed:
        return None
    return _seconds_by_round(timed[0]) if len(timed) == 1 else _seconds_by_configuration(timed)


def _seconds_by_round(run: RunRecord) -> Figure | None:
    rounds, phases = _seconds(run)
    columns = bins(len(rounds), MOST_COLUMNS)
    starts = [rounds[members[0]] for members in columns]
    x = Axis("Round", "round", starts, grid=False)
    plot = Plot(x, Axis("Seconds", from_zero=True), stacked=True)
    for phase, colour in _phase_colours([phases]).items():
        if phase in phases:
            values = [short(float(np.mean([phases[phase][i] for i in members]))) for members in columns]
            plot.marks.append(Bars(Look(phase, colour), list(starts), values))
    return Figure([plot], hover="column", legend=True) if plot.marks else None


def _seconds_by_configuration(runs: Sequence[RunRecord]) -> Figure | None:
    groups = group_runs(runs)
    labels = [group.label for group in groups]
    plot = Plot(Axis("Seconds per round", from_zero=True), names_axis("", labels), across=True, stacked=True)
    spent = [[_seconds(run)[1] for run in group.runs] for group in groups]
    for phase, colour in _phase_colours([one for of_group in spent for one in of_group]).items():
        means = [mean_of([value for one in of_group for value in one.get(phase, [])]) for of_group in spent]
        if any(value is not None for value in means):
            plot.marks.append(Bars(Look(phase, colour), means, list(labels)))
    height = max(280, 130 + 40 * len(groups))
    return Figure([plot], height, "column", legend=True) if plot.marks else None


def _phase_colours(spent: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """The colour of each phase: those of every run in the order of a round, then those of these runs only."""
    names = dict.fromkeys([*PHASES, *(phase for one in spent for phase in one)])
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
