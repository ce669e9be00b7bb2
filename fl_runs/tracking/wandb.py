"""Weights & Biases: a run of a project, online or in an offline folder, as the user's environment says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_runs.tracking.base import TrackedRun, Tracker

PROJECT = "fedloom"


class WandB(Tracker):
    """`--track wandb[:PROJECT]`: history by round, the configuration, the report as an artifact.

    A resumed run keeps its id. Online it is continued; offline it gets a second folder of the same id, which holds all of its rounds.
    WANDB_PROJECT names the project where --track does not.
    """

    name = "wandb"
    library = "wandb"

    def open(self, run: TrackedRun, kept: Mapping[str, Any]) -> dict[str, Any]:
        import wandb

        project = self.place or None
        if project is None and not wandb.Settings().project:
            project = PROJECT
        before = kept.get("id") if kept.get("project") == self.place else None
        self.run = wandb.init(
            project=project,
            id=before,
            name=run.name,
            group=run.strategy,
            config=dict(run.config),
            resume="allow" if before else None,
            reinit="create_new",  # several runs in one process, one after the other
            settings=wandb.Settings(console="off"),  # the progress bar is no log
        )
        self.last = self.run.step - 1  # of a run that is continued online; a new one is at step 0
        return {"project": self.place, "id": self.run.id}

    def log(self, round: int, numbers: Mapping[str, float]) -> None:
        self.run.log(dict(numbers), step=round)

    def attach(self, page: Path) -> None:
        import wandb

        artifact = wandb.Artifact(f"report-{self.run.id}", type="report")
        artifact.add_file(str(page))
        self.run.log_artifact(artifact)

    def close(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)
