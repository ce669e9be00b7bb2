"""The observer that gives a run's records to its trackers: they may fail, the run goes on."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from fl_config.errors import ConfigError, last_line, nearest
from fl_config.files import write_atomically
from fl_config.toml import Scalar
from fl_runs.tracking.base import TrackedRun, Tracker, numbers_of
from fl_runs.tracking.mlflow import MLflow
from fl_runs.tracking.tensorboard import TensorBoard
from fl_runs.tracking.wandb import WandB
from fl_strategies.round.records import Observer, Record

log = logging.getLogger("fedloom.tracking")
KEPT = "tracking.json"  # in the run folder: which tracked run belongs to it, and how far that has come
TRACKERS: dict[str, type[Tracker]] = {kind.name: kind for kind in (TensorBoard, MLflow, WandB)}


def chosen(text: str) -> list[Tracker]:
    """The trackers of `tensorboard,mlflow:URI`; a sentence for one that there is not."""
    made: dict[str, Tracker] = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, _, place = word.partition(":")
        if name not in TRACKERS:
            raise ConfigError(
                f"There is no tracker {name!r}{nearest(name, TRACKERS)} --track takes {', '.join(TRACKERS)}."
            )
        if name in made:
            raise ConfigError(f"--track names {name!r} twice; once is enough.")
        made[name] = TRACKERS[name](place)
    return list(made.values())


class Tracking(Observer):
    """All trackers of one run. One that fails is told once and left out; what it missed, it gets when the run is resumed."""

    def __init__(self, folder: Path, trackers: Sequence[Tracker]) -> None:
        self.folder, self.trackers = folder, list(trackers)
        self.page: Callable[[Path], Path] | None = None  # writes the report of a run folder, where somebody can
        self.kept: dict[str, dict[str, object]] = {}

    def open(self, config: Mapping[str, Scalar], records: Sequence[Record]) -> None:
        """Begin or go on with the tracked runs, and give them the rounds that they lack; a tracker that cannot begin ends it here."""
        path = self.folder / KEPT
        if self.trackers and path.exists():
            self.kept = json.loads(path.read_text(encoding="utf-8"))
        for tracker in self.trackers:
            tracker.check_installed()
            before = self.kept.get(tracker.name, {})
            try:
                now = tracker.open(TrackedRun(self.folder, config), before)
            except Exception as problem:  # of a foreign library, which may raise anything
                raise ConfigError(
                    f"--track {tracker.name} cannot begin: {_reason(problem)}. Correct that, or run without this tracker."
                ) from problem
            self.kept[tracker.name] = now
        self._keep()
        for record in records:
            self.recorded(record)

    def recorded(self, record: Record) -> None:
        for tracker in [one for one in self.trackers if record["round"] > one.last]:
            if self._tried(tracker, partial(tracker.log, record["round"], numbers_of(record))):
                tracker.last = record["round"]

    def ended(self, summary: Record) -> None:
        page = self._written_page() if self.trackers and summary["finished"] else None
        for tracker in list(self.trackers):
            if page is None or self._tried(tracker, partial(tracker.attach, page)):
                self._tried(tracker, partial(tracker.close, bool(summary["finished"])))
        self.trackers = []

    def _written_page(self) -> Path | None:
        try:
            return self.page(self.folder) if self.page is not None else None
        except OSError as problem:
            self._say(f"The trackers get no report, which cannot be written: {problem}.")
            return None

    def _tried(self, tracker: Tracker, action: Callable[[], None]) -> bool:
        """Whether it went well; a tracker of which something fails is left out from then on."""
        try:
            action()
        except Exception as problem:  # of a foreign library, which may raise anything
            self.trackers = [one for one in self.trackers if one is not tracker]
            self._say(f"{tracker.name} no longer tracks this run, which goes on without it: {_reason(problem)}.")
            return False
        return True

    def _say(self, sentence: str) -> None:
        log.warning(sentence)
        print(sentence, file=sys.stderr, flush=True)

    def _keep(self) -> None:
        if self.kept:
            write_atomically(self.folder / KEPT, (json.dumps(self.kept, indent=2) + "\n").encode())


def _reason(problem: Exception) -> str:
    return last_line(str(problem) or type(problem).__name__).rstrip(".")
