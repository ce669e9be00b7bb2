"""The comparison of configurations as a table: the headline metric over seeds, a paired test, rounds, traffic and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fl_runs.reading import Headline, RunGroup, RunRecord, group_runs, is_number
from simulation.report.headline import Spread, figure_text, shared_headline
from simulation.report.paired import Paired, baseline_named, baseline_of, paired


@dataclass
class ComparisonRow:
    """One configuration over its seeds; None where no run has the number."""

    configuration: str
    strategy: str
    settings: dict[str, str]  # what was varied beside the strategy, as this one has it
    seeds: list[int | None]
    headline: Headline
    final: Spread | None
    best: Spread | None
    against: Paired | None  # of the final figures, with those of the baseline
    rounds: tuple[int, int]
    megabytes: float | None
    seconds: float | None
    finished: bool

    def cells(self) -> list[str]:
        """The row as text, in the order of `Comparison.headings`, the paired test last."""
        fewest, most = self.rounds
        rounds = f"{most}" if fewest == most else f"{fewest} to {most}"
        return [
            self.configuration,
            ", ".join("–" if seed is None else str(seed) for seed in self.seeds),
            figure_text(self.final, self.headline.key),
            figure_text(self.best, self.headline.key),
            rounds if self.finished else f"{rounds} (unfinished)",
            "–" if self.megabytes is None else f"{self.megabytes:,.1f}",
            "–" if self.seconds is None else duration(self.seconds),
            "–" if self.against is None else self.against.text(self.headline.key),
        ]


@dataclass
class Comparison:
    """The table: one row per configuration. With one configuration there is nothing to test it against."""

    headline: Headline
    baseline: str  # the strategy that others are tested against
    rows: list[ComparisonRow]

    @property
    def headings(self) -> list[str]:
        name = self.headline.name
        names = [
            "Strategy",
            "Seeds",
            f"Final {name}",
            f"Best {name}",
            "Rounds",
            "MB",
            "Time",
            f"Against {self.baseline}",
        ]
        return names if self.tested else names[:-1]

    @property
    def tested(self) -> bool:
        return len(self.rows) > 1

    def cells(self) -> list[list[str]]:
        """The rows as text, in the order of the headings."""
        return [row.cells()[: len(self.headings)] for row in self.rows]


def comparison(runs: Sequence[RunRecord], baseline: str = "") -> Comparison:
    """Mean and sample deviation over seeds by configuration; MB and seconds are those of its mean run.

    Final figures are tested against those of `baseline`, a strategy or a whole label; by default the first strategy.
    """
    headline, groups = shared_headline(runs), group_runs(runs)
    bases = baseline_named(groups, baseline)
    keys = varied(groups)
    rows = [
        _row(group, headline, baseline_of(group, bases), {key: group.settings().get(key, "") for key in keys})
        for group in groups
    ]
    return Comparison(headline, baseline or groups[0].runs[0].strategy, rows)


def varied(groups: Sequence[RunGroup]) -> list[str]:
    """The options that were tried with several values. A parameter counts only where those that have it differ in it."""
    settings = [group.settings() for group in groups]
    keys = dict.fromkeys(key for one in settings for key in one if key != "strategy")
    return [key for key in keys if len({one.get(key, "") for one in settings if key in one or "." not in key}) > 1]


def total_megabytes(run: RunRecord) -> float | None:
    values = [*run.series("bytes_up").values(), *run.series("bytes_down").values()]
    return sum(values) / 1e6 if values else None


def total_seconds(run: RunRecord) -> float | None:
    """The seconds in the summary; for an unfinished run, the sum over its rounds' phases."""
    if is_number(run.summary.get("seconds")):
        return float(run.summary["seconds"])
    spent = [line["seconds"] for line in run.metrics if isinstance(line.get("seconds"), dict)]
    return float(sum(value for one in spent for value in one.values() if is_number(value))) if spent else None


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _row(group: RunGroup, headline: Headline, base: RunGroup | None, settings: dict[str, str]) -> ComparisonRow:
    figures = [list(series.values()) for run in group.runs if (series := run.series(f"global/{headline.key}"))]
    rounds = [run.metrics[-1]["round"] if run.metrics else 0 for run in group.runs]
    megabytes = [value for run in group.runs if (value := total_megabytes(run)) is not None]
    seconds = [value for run in group.runs if (value := total_seconds(run)) is not None]
    return ComparisonRow(
        configuration=group.label,
        strategy=group.runs[0].strategy,
        settings=settings,
        seeds=[run.seed for run in group.runs],
        headline=headline,
        final=_mean_and_deviation([values[-1] for values in figures]),
        best=_mean_and_deviation([headline.best_of(values) for values in figures]),
        against=None if base is None else paired(group, base, headline),
        rounds=(min(rounds), max(rounds)),
        megabytes=float(np.mean(megabytes)) if megabytes else None,
        seconds=float(np.mean(seconds)) if seconds else None,
        finished=all(run.finished for run in group.runs),
    )


def _mean_and_deviation(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None
