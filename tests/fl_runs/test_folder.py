"""What a run writes: lines, a partition, checkpoints when they are due, a summary; and how a resumed run goes on."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from fl_config.errors import ConfigError
from fl_config.toml import Scalar
from fl_runs.folder import RunFolder, default_folder, versions
from fl_strategies.checkpoint import load_checkpoint
from fl_strategies.round.state import RunState
from fl_tasks import Classification, chosen_metrics

CONFIG: dict[str, Scalar] = {"strategy": "fedavg", "lr": 0.1}

METRICS = chosen_metrics(Classification())


def line(round: int, accuracy: float | None = None) -> dict[str, object]:
    scored = {} if accuracy is None else {"global/accuracy": accuracy, "global/class_accuracy": [accuracy]}
    return {"round": round, **scored, "seconds": {"train": 2.0}}


def test_a_finished_run_has_its_lines_model_and_summary(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", CONFIG)
    for record in (line(0, 0.1), line(1, 0.7), line(2, 0.6), line(3)):
        folder.recorded(record)
    folder.write_partition(["a", "b"], [0, "x"], np.array([[1, 2], [3, 4]]), None, 2)
    folder.write_client_models({3: np.ones(2, dtype=np.float32)})
    logging.getLogger("fedloom").warning("something was odd")
    folder.finish("fedavg+size", "fedavg", 4, {"w": np.arange(4, dtype=np.float32)[::2]}, True, METRICS)
    logging.getLogger("fedloom").warning("after the end")
    written = [json.loads(text) for text in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert written == folder.records and len(written) == 4
    summary = json.loads((folder.path / "summary.json").read_text())
    assert (summary["strategy"], summary["recipe"], summary["seed"]) == ("fedavg+size", "fedavg", 4)
    assert (summary["rounds"], summary["finished"], summary["versions"]) == (3, True, versions())
    assert summary["final"] == {"round": 2, "global/accuracy": 0.6}
    assert summary["best"] == {"round": 1, "global/accuracy": 0.7}
    assert load_file(folder.path / "model.safetensors")["w"].tolist() == [0, 2]
    assert load_file(folder.path / "client_models.safetensors")["3"].tolist() == [1, 1]
    partition = json.loads((folder.path / "partition.json").read_text())
    assert partition["counts"] == [[1, 2], [3, 4]] and partition["client_ids"] == [0, "x"]
    log = (folder.path / "log.txt").read_text()
    assert "something was odd" in log and "after the end" not in log


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", CONFIG).close()
    with pytest.raises(ConfigError, match="holds another run: choose another --out, or continue a run with --resume"):
        RunFolder(tmp_path / "run", CONFIG)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("")
    with pytest.raises(ConfigError, match="holds other files"):
        RunFolder(tmp_path / "notes", CONFIG)


def test_a_resumed_run_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    first = RunFolder(tmp_path, CONFIG)
    for number in range(4):
        first.recorded(line(number, 0.1 * number))
    first.close()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"round": 4, "glob')  # killed here
    (tmp_path / ".summary.json.77").write_bytes(b"half")
    again = RunFolder(tmp_path, {**CONFIG, "lr": 0.2}, resume_after=2)
    again.close()
    assert [record["round"] for record in again.records] == [0, 1, 2]
    assert [json.loads(text)["round"] for text in (tmp_path / "metrics.jsonl").read_text().splitlines()] == [0, 1, 2]
    assert again.before == 6.0
    assert not list(tmp_path.glob(".*")) and "lr = 0.2" in (tmp_path / "config.toml").read_text()


def test_checkpoints_are_written_when_due_and_at_the_end(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, CONFIG, save_every=3)
    folder.close()
    states = [RunState(number, np.full(2, number, dtype=np.float32), {}) for number in range(1, 6)]
    assert [folder.checkpoint(state, state.round == 5) for state in states] == [False, False, True, False, True]
    assert load_checkpoint(tmp_path / "checkpoint").omega.tolist() == [5, 5]


def test_folders_without_a_name_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "now")
    taken = []
    for _ in range(3):
        taken.append(default_folder("fedavg"))
        taken[-1].mkdir(parents=True)
    assert [path.as_posix() for path in taken] == ["runs/now-fedavg", "runs/now-fedavg-2", "runs/now-fedavg-3"]
