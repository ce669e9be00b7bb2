"""What a page goes by: the headline metric of its runs, and how figures of a metric are written."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fl_runs.reading import Headline, RunRecord
from simulation.report.pictures.figure import Unit

Spread = tuple[float, float | None]  # the mean over seeds and, of several, the sample deviation


def shared_headline(runs: Sequence[RunRecord]) -> Headline:
    """The runs' headline; where they differ, the first that every run has recorded, or else the first run's."""
    named = list(dict.fromkeys(run.headline for run in runs))
    recorded = [one for one in named if all(run.series(f"global/{one.key}") for run in runs)]
    return (recorded or named or [Headline()])[0]


def title_of(headline: Headline) -> str:
    """At the beginning of a heading; the names of other metrics are written as they are in options and records."""
    return "Accuracy" if headline == Headline() else headline.name


def is_share(key: str) -> bool:
    """Whether a metric is a share of examples, which is written in percent."""
    return key.endswith("accuracy")


def unit_of(key: str) -> Unit:
    return "share" if is_share(key) else "number"


def figure_text(value: Spread | None, key: str) -> str:
    """A figure with its deviation: 91.20 ± 0.31 % of a share, four significant digits of anything else."""
    if value is None:
        return "–"
    mean, deviation = value
    if is_share(key):
        return f"{100 * mean:.2f} %" if deviation is None else f"{100 * mean:.2f} ± {100 * deviation:.2f} %"
    if mean and not 1e-4 <= abs(mean) < 1e7:
        return f"{mean:.4g}" if deviation is None else f"{mean:.4g} ± {deviation:.2g}"
    decimals = max(0, 3 - math.floor(math.log10(abs(mean)))) if mean else 4
    shown = float(f"{mean:.4g}")
    return f"{shown:,.{decimals}f}" if deviation is None else f"{shown:,.{decimals}f} ± {deviation:,.{decimals}f}"
