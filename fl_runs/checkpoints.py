"""When a run writes checkpoints, and from which it goes on: the newest one whose round has its line in metrics.jsonl.

A round's line is written after its checkpoint (it says how long that took). Until then the checkpoint before is kept beside it: where
the disk is full or the process is killed between the two, the run goes on from that one, and no line is missing.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from fl_strategies.checkpoint import FILE, load_checkpoint, save_checkpoint
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState

PREVIOUS = "previous.safetensors"  # empty beside a run's first checkpoint
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Checkpoints:
    """The checkpoints of a run; `kept` is the round after which it would go on if it ended now."""

    def __init__(self, folder: Path, every: int, kept: int | None = None) -> None:
        self.folder, self.every, self.kept = folder, every, kept
        self.saved = kept

    def save(self, state: RunState, last: bool) -> bool:
        """Write the checkpoint if it is due, as it always is after the last round; says whether it did."""
        due = last or state.round % self.every == 0
        if due:
            self._keep_previous()
            save_checkpoint(self.folder, state)
            self.saved = state.round
        return due

    def _keep_previous(self) -> None:
        current, previous = self.folder / FILE, self.folder / PREVIOUS
        self.folder.mkdir(parents=True, exist_ok=True)
        previous.unlink(missing_ok=True)
        if not current.exists():
            previous.touch()
            return
        try:
            os.link(current, previous)
        except OSError as error:
            if error.errno not in NO_LINKS:  # a disk that knows no links has only the one checkpoint
                raise

    def counts(self, round: int) -> None:
        """The line of this round is written; where it is the newest checkpoint's, the one before is not needed any more."""
        if round == self.saved:
            (self.folder / PREVIOUS).unlink(missing_ok=True)
            self.kept = round


def open_checkpoint(folder: Path, metrics: Path) -> RunState | None:
    """The state to go on from, or None to begin again."""
    last_line = max((record["round"] for record in whole_lines(metrics)), default=-1)
    current, previous = folder / FILE, folder / PREVIOUS
    if current.exists() and previous.exists() and load_checkpoint(folder).round > last_line:
        if previous.stat().st_size:
            previous.replace(current)
        else:
            current.unlink()
    previous.unlink(missing_ok=True)
    return load_checkpoint(folder) if current.exists() else None


def whole_lines(metrics: Path) -> list[Record]:
    """The records of metrics.jsonl, up to a line that a kill cut short."""
    records: list[Record] = []
    for line in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records
