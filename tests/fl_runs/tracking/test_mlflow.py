"""MLflow's SQLite store, read back with a client of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run as TrackedRun

from fl_config.errors import ConfigError
from fl_runs.tracking.mlflow import MLflow
from simulation import run
from tests.fl_runs.tracking.tracked_runs import curves, stopped, tracked


def tracked_runs(uri: str, experiment: str = "fedloom") -> tuple[MlflowClient, list[TrackedRun]]:
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    assert found is not None
    return client, list(client.search_runs([found.experiment_id]))


def history(client: MlflowClient, one: TrackedRun) -> dict[str, list[tuple[int, float]]]:
    return {
        key: sorted((point.step, point.value) for point in client.get_metric_history(one.info.run_id, key))
        for key in one.data.metrics
    }


def test_the_store_holds_numbers_configuration_and_report(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'runs.db'}"
    made = tracked(tmp_path / "run", f"mlflow:{uri}")
    client, (one,) = tracked_runs(uri)
    assert history(client, one) == {key: list(points.items()) for key, points in curves(made.folder).items()}
    assert one.info.status == "FINISHED" and one.info.run_name == "run"
    assert one.data.params["disco.a"] == "0.3" and one.data.params["rounds"] == "4"
    (page,) = client.list_artifacts(one.info.run_id)
    assert page.path == "report.html"
    kept = Path(client.download_artifacts(one.info.run_id, "report.html", str(tmp_path)))
    assert kept.read_bytes() == (made.folder / "report.html").read_bytes()


def test_a_resumed_run_is_the_same_tracked_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "wards")
    left = stopped(tmp_path / "run", "mlflow")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    assert tracked_runs(uri, "wards")[1][0].info.status == "KILLED"
    run({"resume": str(left.folder)})
    client, (one,) = tracked_runs(uri, "wards")
    assert one.info.status == "FINISHED"
    assert history(client, one) == {key: list(points.items()) for key, points in curves(left.folder).items()}


def test_a_place_is_a_database_a_folder_or_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking.example")
    assert MLflow("").uri == "http://tracking.example"
    assert MLflow("my.db").uri == f"sqlite:///{tmp_path / 'my.db'}"
    assert MLflow("https://other.example:5000").uri == "https://other.example:5000"


def test_a_server_that_is_not_there_is_told_before_the_first_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(ConfigError, match="--track mlflow cannot begin"):
        tracked(tmp_path / "run", "mlflow:http://127.0.0.1:9")
    assert not (tmp_path / "run").exists()
