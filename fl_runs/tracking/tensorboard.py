"""TensorBoard: event files in the run folder, or under a folder of the user's with one folder per run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_runs.tracking.base import TrackedRun, Tracker


class TensorBoard(Tracker):
    """`--track tensorboard[:DIR]`: one scalar per key; the configuration is a text. It has no place for the report."""

    name = "tensorboard"
    library = "tensorboard"

    def open(self, run: TrackedRun, kept: Mapping[str, Any]) -> dict[str, Any]:
        from torch.utils.tensorboard import SummaryWriter

        again = kept.get("place") == self.place
        folder = Path(kept["folder"]) if again else self._new_folder(run)
        # Rounds are written again after a resume, because the writer marks what is there from then on as void. What was written is
        # not read back: a kill may have cut the last event in two.
        self.writer = SummaryWriter(str(folder), purge_step=0 if again else None)  # type: ignore[no-untyped-call]
        if not again:
            rows = "".join(f"| {key} | {value} |\n" for key, value in run.config.items())
            self.writer.add_text("config", f"| option | value |\n|---|---|\n{rows}")  # type: ignore[no-untyped-call]
        return {"place": self.place, "folder": str(folder)}

    def _new_folder(self, run: TrackedRun) -> Path:
        """In the run folder, or in the user's under the same name, numbered where another run has it already."""
        if not self.place:
            return (run.folder / "tensorboard").resolve()
        folder = named = Path(self.place).resolve() / run.name
        number = 2
        while folder.exists():
            folder = named.with_name(f"{named.name}-{number}")
            number += 1
        return folder

    def log(self, round: int, numbers: Mapping[str, float]) -> None:
        for key, value in numbers.items():
            self.writer.add_scalar(key, value, round)  # type: ignore[no-untyped-call]
        self.writer.flush()  # type: ignore[no-untyped-call]

    def close(self, finished: bool) -> None:
        self.writer.close()  # type: ignore[no-untyped-call]
