"""Ours beside theirs: the figure of a row over its seeds, and whether it is what was published."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulation.reproduce.kept_results import Curve, Result, stem_of
from simulation.reproduce.published import Row, Setting

NOT_RUN = "not run"


@dataclass(frozen=True)
class Ours:
    """A row with what our runs gave; of several settings the best counts, once each has a run."""

    row: Row
    results: tuple[Result, ...] = ()  # of the setting that counts, one per seed
    figures: tuple[float | None, ...] = ()  # None: the level was not reached
    label: str = ""  # the setting that counts, where there are several
    made: int = 0  # settings that have a run

    @property
    def complete(self) -> bool:
        return self.made == len(self.row.settings)

    @property
    def mean(self) -> float | None:
        known = [figure for figure in self.figures if figure is not None]
        return statistics.fmean(known) if known and len(known) == len(self.figures) else None

    @property
    def deviation(self) -> float | None:
        known = [figure for figure in self.figures if figure is not None]
        return statistics.stdev(known) if len(known) == len(self.figures) > 1 else None

    @property
    def text(self) -> str:
        if not self.figures:
            return "–"
        digits, label = (".2f", f" ({self.label})" if self.label else "")
        if self.mean is None:
            return f"not reached in {self.results[0].rounds} rounds{label}"
        if self.row.level is not None:
            digits = ".0f" if len(self.figures) == 1 else ".1f"
        return f"{self.mean:{digits}}{self.row.unit}{label}"


def figure_of(curve: Curve, level: float | None) -> float | None:
    """In %, after the last round; with a level the first round that reaches it, if one does."""
    if level is None:
        return 100 * curve[max(curve)]
    return next((float(number) for number, value in sorted(curve.items()) if number and value >= level), None)


def ours(row: Row, results: Mapping[str, Result], seeds: int | None = None) -> Ours:
    """What the kept results say of a row, over as many seeds as are there."""
    found = [(setting, of_setting(row, setting, results, seeds)) for setting in row.settings]
    known = [(setting, own) for setting, own in found if own]
    if not known:
        return Ours(row)
    made = [
        Ours(
            row,
            tuple(own),
            tuple(figure_of(result.curves[row.score], row.level) for result in own),
            setting.label,
            len(known),
        )
        for setting, own in known
    ]
    if row.level is None:
        return max(made, key=lambda one: one.mean or 0.0)
    return min(made, key=lambda one: float("inf") if one.mean is None else one.mean)


def of_setting(row: Row, setting: Setting, results: Mapping[str, Result], seeds: int | None = None) -> list[Result]:
    """The results of a setting, for the row's seeds; a run that did not record what the row measures does not count."""
    stem, last = stem_of(setting), row.seed + seeds if seeds else None
    own = [
        result for result in results.values() if result.name == f"{stem}{result.seed}" and row.score in result.curves
    ]
    wanted = [result for result in own if result.seed >= row.seed and (last is None or result.seed < last)]
    return sorted(wanted, key=lambda result: result.seed)


def verdict(one: Ours, others: Mapping[str, Ours]) -> str:
    row = one.row
    if row.no_target:
        return f"no target: {row.no_target}"
    if not one.figures:
        return NOT_RUN
    if not one.complete:
        return f"{one.made} of {len(row.settings)} settings run"
    if row.above:
        base = others.get(row.above)
        return gained(gains(one, base), row.base) if base is not None and base.figures else f"{row.base} not run"
    if row.figure is None:
        return "base of the others"
    if one.mean is None:
        return f"outside: not reached, published {row.figure:g}"
    difference = one.mean - row.figure
    # Nobody minds a run that needs fewer rounds than the published one.
    if abs(difference) <= row.tolerance or (row.level is not None and difference <= 0):
        return f"within ({difference:+.2f})" if row.level is None else f"within ({difference:+.1f})"
    return f"outside by {abs(difference) - row.tolerance:.2f} ({difference:+.2f})"


def gains(one: Ours, base: Ours) -> list[float]:
    """By seed, over the seeds that both have: a difference between means of other seeds would say more of the seeds."""
    theirs = dict(zip([result.seed for result in base.results], base.figures, strict=True))
    pairs = [(figure, theirs.get(result.seed)) for result, figure in zip(one.results, one.figures, strict=True)]
    return [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]


def gained(by_seed: Sequence[float], base: str) -> str:
    if not by_seed:
        return f"no seed that {base} has as well"
    gain = statistics.fmean(by_seed)
    each = f" ({' '.join(f'{one:+.1f}' for one in by_seed)})" if len(by_seed) > 1 else ""
    return f"gains {gain:.2f} points{each}" if gain > 0 else f"no gain: {gain:+.2f} points{each}"


def side_by_side(rows: Sequence[Row], results: Mapping[str, Result], seeds: int | None = None) -> list[Ours]:
    return [ours(row, results, seeds) for row in rows]
