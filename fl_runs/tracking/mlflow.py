"""MLflow: a run of an experiment, in a database file or on a tracking server."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from fl_runs.tracking.base import TrackedRun, Tracker

EXPERIMENT = "fedloom"
LONGEST_PARAMETER = 6000  # characters, of MLflow's own
# A server that is gone must not hold up the rounds for minutes; whoever sets these in the environment is heard.
SHORT_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MLflow(Tracker):
    """`--track mlflow[:URI]`: metrics by round, the configuration as parameters, the report as an artifact.

    Without a URI it is MLFLOW_TRACKING_URI, or else the database mlflow.db in the current folder; MLFLOW_EXPERIMENT_NAME names the
    experiment.
    """

    name = "mlflow"
    library = "mlflow"

    @property
    def uri(self) -> str:
        given = self.place or os.environ.get("MLFLOW_TRACKING_URI", "") or "mlflow.db"
        if "://" in given or given == "databricks":
            return given
        return f"sqlite:///{Path(given).resolve()}" if given.endswith(".db") else Path(given).resolve().as_uri()

    def open(self, run: TrackedRun, kept: Mapping[str, Any]) -> dict[str, Any]:
        for name, value in SHORT_PATIENCE.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient
        from mlflow.entities import Param

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of every table that it creates
        lock = Path(tempfile.gettempdir()) / f"fedloom-mlflow-{hashlib.sha256(self.uri.encode()).hexdigest()[:16]}.lock"
        with FileLock(lock):  # the runs of a sweep would otherwise all create one database at once
            self.client = MlflowClient(self.uri)
            experiment = self._experiment()
        if kept.get("uri") == self.uri:
            self.run_id = str(kept["run_id"])
            self.client.update_run(self.run_id, status="RUNNING")
            known = self.client.get_run(self.run_id).data.metrics
            steps = [one.step for key in known for one in self.client.get_metric_history(self.run_id, key)]
            self.last = max(steps, default=-1)
        else:
            tags = {"fedloom.strategy": run.strategy, "fedloom.folder": str(run.folder)}
            self.run_id = self.client.create_run(experiment, run_name=run.name, tags=tags).info.run_id
            texts = {key: str(value)[:LONGEST_PARAMETER] for key, value in run.config.items()}
            self.client.log_batch(self.run_id, params=[Param(key, text) for key, text in texts.items()])
        return {"uri": self.uri, "run_id": self.run_id}

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        found = self.client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        # MLflow would put the artifacts of a database's experiment into whatever folder is the current one.
        beside = (
            Path(self.uri.removeprefix("sqlite:///")).with_suffix("") if self.uri.startswith("sqlite:///") else None
        )
        return str(
            self.client.create_experiment(
                name, beside.with_name(f"{beside.name}-artifacts").as_uri() if beside else None
            )
        )

    def log(self, round: int, numbers: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self.client.log_batch(self.run_id, metrics=[Metric(key, value, now, round) for key, value in numbers.items()])

    def attach(self, page: Path) -> None:
        self.client.log_artifact(self.run_id, str(page))

    def close(self, finished: bool) -> None:
        self.client.set_terminated(self.run_id, "FINISHED" if finished else "KILLED")
