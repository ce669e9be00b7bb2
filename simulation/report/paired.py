"""Whether a configuration differs from a baseline: a paired t-test over the seeds that both have.

d_s = final figure of the configuration with seed s - that of the baseline with seed s;  t = mean(d) / (std(d) / sqrt(n)), n - 1 degrees of
freedom, two-sided. Fewer than three pairs say nothing, and without any spread of d the test is not defined: both are a dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fl_config.errors import ConfigError, nearest
from fl_runs.reading import Headline, RunGroup
from simulation.report.headline import is_share

FEWEST = 3  # pairs


@dataclass(frozen=True)
class Paired:
    baseline: str  # the label of the configuration that it is compared with
    pairs: int
    difference: float  # mean over the pairs
    p: float

    def text(self, key: str) -> str:
        shown = f"{100 * self.difference:+.2f} points" if is_share(key) else f"{self.difference:+.4g}"
        return f"{shown} (n = {self.pairs}, p = {self.p:.3g})"


def paired(group: RunGroup, base: RunGroup, headline: Headline) -> Paired | None:
    """The test of the final figures; None where there are too few pairs or no spread."""
    ours, theirs = _finals(group, headline), _finals(base, headline)
    seeds = sorted(ours.keys() & theirs.keys())
    differences = np.array([ours[seed] - theirs[seed] for seed in seeds])
    if len(seeds) < FEWEST or np.ptp(differences) <= 1e-12 * np.abs(differences).max():
        return None
    from scipy.special import stdtr  # scipy.stats would take seconds to load

    n, mean = len(seeds), float(differences.mean())
    t = mean / (differences.std(ddof=1) / np.sqrt(n))
    return Paired(base.label, n, mean, float(2 * stdtr(n - 1, -abs(t))))


def baseline_named(groups: Sequence[RunGroup], name: str) -> list[RunGroup]:
    """The configurations of the strategy of that name, or the one of that label; without a name, those of the first strategy."""
    wanted = name or groups[0].runs[0].strategy
    found = [group for group in groups if wanted in (group.label, group.runs[0].strategy)]
    if not found:
        labels = dict.fromkeys(text for group in groups for text in (group.runs[0].strategy, group.label))
        raise ConfigError(
            f"There is no {name!r} among these runs for --baseline{nearest(name, labels)} There are {', '.join(labels)}."
        )
    return found


def baseline_of(group: RunGroup, bases: Sequence[RunGroup]) -> RunGroup | None:
    """What a configuration is compared with: the first of the baseline's that has the same options, or else its very first.

    Parameters of parts are the strategies' own and may differ. The configuration itself is compared with nothing.
    """
    alike = [base for base in bases if _shared(base) == _shared(group)]
    chosen = (alike or list(bases))[0]
    return None if chosen is group else chosen


def _shared(group: RunGroup) -> dict[str, str]:
    return {key: value for key, value in group.settings().items() if key != "strategy" and "." not in key}


def _finals(group: RunGroup, headline: Headline) -> dict[int, float]:
    finals = {}
    for run in group.runs:
        series = run.series(f"global/{headline.key}")
        if series and run.seed is not None:
            finals[run.seed] = list(series.values())[-1]
    return finals
