"""What a tracker is: a tracked run in somebody's library that is begun or gone on with, given numbers round by round, and closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from fl_config.errors import ConfigError
from fl_config.toml import Scalar
from fl_runs.reading import is_number
from fl_strategies.round.records import Record


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker is told of a run before its first round."""

    folder: Path
    config: Mapping[str, Scalar]  # every option and parameter, as in config.toml

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def strategy(self) -> str:
        return str(self.config["strategy"])


class Tracker:
    """Base of the trackers. What `open` returns is kept in the run folder and given to it again when the run is resumed."""

    name: ClassVar[str]  # in --track, and of the package's extra
    library: ClassVar[str]  # the module that must be there

    def __init__(self, place: str = "") -> None:
        self.place = place  # what follows the colon in --track
        self.last = -1  # the last round that the tracked run already has

    def check_installed(self) -> None:
        if find_spec(self.library) is None:
            raise ConfigError(
                f"--track {self.name} needs the Python package {self.library}, which is not installed: "
                f"pip install 'fedloom[{self.name}]' brings it."
            )

    def open(self, run: TrackedRun, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Begin the tracked run, or go on with the one that was kept; sets `last`."""
        raise NotImplementedError

    def log(self, round: int, numbers: Mapping[str, float]) -> None:
        """The numbers of one round."""
        raise NotImplementedError

    def attach(self, page: Path) -> None:
        """Put the report beside the numbers, where the library has a place for files."""

    def close(self, finished: bool) -> None:
        """No more rounds will come, at least until the run is resumed."""


def numbers_of(record: Record) -> dict[str, float]:
    """Every number of a record under its key, those of a table such as `seconds` as `seconds/train`; lists are no curves."""
    numbers: dict[str, float] = {}
    for key, value in record.items():
        inner = {f"{key}/{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
        numbers |= {name: float(one) for name, one in inner.items() if is_number(one) and name != "round"}
    return numbers
