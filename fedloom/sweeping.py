"""`fedloom.sweep`: a sweep from Python, with the options of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedloom.running import flat_options
from fl_config.errors import ConfigError
from fl_config.toml import Scalar
from fl_runs.result import Run
from simulation.report.export import records_of
from simulation.sweep.conduct import SweepResult, conduct
from simulation.sweep.screen import Screen, screen

if TYPE_CHECKING:
    import pandas


@dataclass
class Sweep:
    """What a sweep left; `failed` says by name what went wrong with runs that are not among `runs`."""

    result: SweepResult

    @property
    def folder(self) -> Path:
        return self.result.folder

    @property
    def failed(self) -> dict[str, str]:
        return self.result.outcome.failed

    @cached_property
    def runs(self) -> list[Run]:
        """The finished runs, in the order of strategies, grid and seeds."""
        return [Run.of(folder) for folder in self.result.finished]

    def table(self, baseline: str = "") -> pandas.DataFrame:
        """One row per strategy and grid point: the columns of table.csv, with all digits."""
        import pandas

        return pandas.DataFrame(records_of(self.result.table(baseline)) if self.result.finished else [])


def sweep(
    strategies: Sequence[str],
    grid: Mapping[str, Sequence[Scalar]] | None = None,
    seeds: int = 3,
    *,
    side_by_side: int | None = None,
    plugins: Sequence[str] = (),
    set: Mapping[str, Any] | None = None,
    quiet: bool = False,
    **options: Any,
) -> Sweep:
    """Run `fedloom sweep` with these options (underscores for dashes), and return what it left.

    strategies     what to compare, such as ["fedavg", "feddisco+asd"]
    grid           values to try of options and of parts' parameters: {"lr": [0.05, 0.1], "disco.a": [0.1, 0.5]}
    seeds          runs of each, with the seeds `seed`, `seed` + 1, ...
    side_by_side   runs at once; by default what the cores allow
    plugins, set   as for `fedloom.run`; model and task may be classes, too
    quiet          show no progress
    The same call goes on with a sweep that was interrupted.
    """
    given = flat_options(options, plugins, set)
    if isinstance(strategies, str):
        raise ConfigError(f"strategies is a list, such as [{strategies!r}], but the text {strategies!r} was given.")
    tried = {key: list(values) for key, values in (grid or {}).items()}
    shown = Screen() if quiet else screen()
    return Sweep(conduct(given, strategies, tried, seeds, side_by_side=side_by_side, screen=shown))
