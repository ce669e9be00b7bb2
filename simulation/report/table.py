"""The comparison of configurations as a table: the headline metric over seeds, rounds, traffic and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fl_runs.reading import Headline, RunGroup, RunRecord, group_runs, is_number
from simulation.report.headline import Spread, figure_text, shared_headline


def headings_of(runs: Sequence[RunRecord]) -> list[str]:
    name = shared_headline(runs).name
    return ["Strategy", "Seeds", f"Final {name}", f"Best {name}", "Rounds", "MB", "Time"]


@dataclass
class ComparisonRow:
    """One configuration over its seeds; None where no run has the number."""

    strategy: str
    seeds: list[int | None]
    headline: Headline
    final: Spread | None
    best: Spread | None
    rounds: tuple[int, int]
    megabytes: float | None
    seconds: float | None
    finished: bool

    def cells(self) -> list[str]:
        """The row as text, in the order of `headings_of`."""
        fewest, most = self.rounds
        rounds = f"{most}" if fewest == most else f"{fewest} to {most}"
        return [
            self.strategy,
            ", ".join("–" if seed is None else str(seed) for seed in self.seeds),
            figure_text(self.final, self.headline.key),
            figure_text(self.best, self.headline.key),
            rounds if self.finished else f"{rounds} (unfinished)",
            "–" if self.megabytes is None else f"{self.megabytes:,.1f}",
            "–" if self.seconds is None else duration(self.seconds),
        ]


def comparison_table(runs: Sequence[RunRecord]) -> list[ComparisonRow]:
    """One row per configuration: mean and sample deviation over its seeds; MB and seconds are those of its mean run."""
    headline = shared_headline(runs)
    return [_row(group, headline) for group in group_runs(runs)]


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


def _row(group: RunGroup, headline: Headline) -> ComparisonRow:
    figures = [list(series.values()) for run in group.runs if (series := run.series(f"global/{headline.key}"))]
    rounds = [run.metrics[-1]["round"] if run.metrics else 0 for run in group.runs]
    megabytes = [value for run in group.runs if (value := total_megabytes(run)) is not None]
    seconds = [value for run in group.runs if (value := total_seconds(run)) is not None]
    return ComparisonRow(
        strategy=group.label,
        seeds=[run.seed for run in group.runs],
        headline=headline,
        final=_mean_and_deviation([values[-1] for values in figures]),
        best=_mean_and_deviation([headline.best_of(values) for values in figures]),
        rounds=(min(rounds), max(rounds)),
        megabytes=float(np.mean(megabytes)) if megabytes else None,
        seconds=float(np.mean(seconds)) if seconds else None,
        finished=all(run.finished for run in group.runs),
    )


def _mean_and_deviation(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None
