"""The offline folder of Weights & Biases, read back with its own reader."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wandb
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore

from simulation import run
from tests.fl_runs.tracking.tracked_runs import curves, stopped, tracked


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an empty folder; the library reads folder and environment once per process, and is therefore ended again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    yield
    wandb.teardown()


def records(folder: Path) -> list[Any]:
    """The records of a finished run; a process of the library's own writes the last of them, soon after the run has ended."""
    (file,) = folder.glob("run-*.wandb")
    deadline = time.monotonic() + 60
    while not (found := scan(file)) or not found[-1].HasField("exit"):
        assert time.monotonic() < deadline, f"{file} has no record of the run's end"
        time.sleep(0.1)
    return found


def scan(file: Path) -> list[Any]:
    store = DataStore()
    store.open_for_scan(str(file))
    found = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        found.append(record)
    return found


def history(found: list[Any]) -> dict[str, dict[int, float]]:
    curves: dict[str, dict[int, float]] = {}
    for record in found:
        if record.HasField("history"):
            items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            step = record.history.step.num
            for key, value in items.items():
                if not key.startswith("_"):
                    curves.setdefault(key, {})[step] = value
    return curves


def test_the_offline_folder_holds_numbers_configuration_and_report(tmp_path: Path) -> None:
    made = tracked(tmp_path / "run", "wandb:wards")
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    found = records(folder)
    assert history(found) == curves(made.folder)
    (begun,) = [record.run for record in found if record.HasField("run")]
    assert (begun.project, begun.display_name, begun.run_group) == ("wards", "run", "feddisco")
    config = {item.key: json.loads(item.value_json) for item in begun.config.update}
    assert config["disco.a"] == 0.3 and config["rounds"] == 4
    kept = [
        record.request.log_artifact.artifact if record.HasField("request") else record.artifact
        for record in found
        if record.HasField("artifact") or (record.HasField("request") and record.request.HasField("log_artifact"))
    ]
    assert [(one.type, [entry.path for entry in one.manifest.contents]) for one in kept] == [
        ("report", ["report.html"])
    ]


def test_a_resumed_run_keeps_its_id_and_has_all_rounds(tmp_path: Path) -> None:
    left = stopped(tmp_path / "run", "wandb")
    (first,) = (tmp_path / "wandb").glob("offline-run-*")
    run({"resume": str(left.folder)})
    # By time; within one second they have one name, or the second has -1 at its end.
    folders = sorted((tmp_path / "wandb").glob("offline-run-*"))
    assert {folder.name.split("-")[3] for folder in folders} == {first.name.split("-")[3]}
    found = records(folders[-1])
    assert history(found) == curves(left.folder)
    assert next(record.run.project for record in found if record.HasField("run")) == "fedloom"
