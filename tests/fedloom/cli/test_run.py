"""`fedloom run` as a user meets it: sentences for mistakes, and the files that are there afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import SMALL, fails


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--strategy", "fedavgg"], ["'fedavgg'", "did you mean 'fedavg'"]),
        (["--partition", "dirichlet:-1"], ["dirichlet:-1", "above 0"]),
        (["--dataset", "digits", "--clients", "5000"], ["5000 clients", "1,442"]),
        (["--dataset", "fashon-mnist"], ["did you mean 'fashion-mnist'"]),
        (["--model", "lenett"], ["did you mean 'lenet'"]),
        (["--target", "skew:x"], ["skew"]),
        (["--lr", "-1"], ["'lr'", "greater than 0"]),
        (["--rounds", "x"], ["'rounds'", "integer"]),
        (["--lrr", "1"], ["'--lrr'", "did you mean '--lr'"]),
        (["--set", "disco.a=0.3"], ["'disco.a'", "'fedavg' does not use"]),
        (["--set", "nonsense"], ["part.name=value"]),
        (["--strategy", "feddisco", "--set", "disco.metric=kk"], ["'metric'", "'kl'"]),
        (["--config", "missing.toml"], ["missing.toml", "No such file"]),
        (["--resume", "missing"], ["no run to resume"]),
        (["--device", "cuda"], ["'cuda'", "--device auto"]),
        (["--init", "missing.safetensors"], ["missing.safetensors"]),
        (["--held-out", "2"], ["'held-out'"]),
    ],
)
def test_a_wrong_flag_is_one_sentence_and_starts_nothing(
    arguments: list[str],
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    line = fails(capsys, "run", "--engine", "inline", *arguments)
    assert all(word in line for word in words), line
    assert not list(tmp_path.glob("runs/*/metrics.jsonl"))


def test_an_initial_model_of_other_shapes_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", *SMALL, "--out", str(tmp_path / "a")]) == 0
    arrays = load_file(tmp_path / "a" / "model.safetensors")
    name = next(iter(arrays))
    save_file({**arrays, name: np.zeros((2, 2), dtype=np.float32)}, tmp_path / "other.safetensors")
    capsys.readouterr()
    line = fails(capsys, "run", *SMALL, "--init", str(tmp_path / "other.safetensors"), "--out", str(tmp_path / "b"))
    assert name in line and "(2, 2)" in line
    assert main(["run", *SMALL, "--init", str(tmp_path / "a" / "model.safetensors"), "--out", str(tmp_path / "c")]) == 0
    first = json.loads((tmp_path / "c" / "metrics.jsonl").read_text().splitlines()[0])
    last = json.loads((tmp_path / "a" / "metrics.jsonl").read_text().splitlines()[-1])
    assert first["global/accuracy"] == last["global/accuracy"]


def test_a_run_leaves_its_folder_and_another_may_not_use_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["run", *SMALL, "--strategy", "feddisco", "--set", "disco.a=0.4", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "round 2/2" in told and "report.html" in told
    for name in (
        "config.toml",
        "metrics.jsonl",
        "summary.json",
        "model.safetensors",
        "report.html",
        "log.txt",
        "partition.json",
        "checkpoint",
    ):
        assert (out / name).exists(), name
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["round"] for line in lines] == [0, 1, 2]
    wanted = {
        "global/accuracy",
        "global/loss",
        "global/class_accuracy",
        "train/loss",
        "cohort",
        "weights",
        "dropped",
        "bytes_up",
        "bytes_down",
        "seconds",
    }
    assert wanted <= lines[1].keys()
    assert len(lines[1]["weights"]) == len(lines[1]["cohort"]) == 4
    assert sum(lines[1]["weights"]) == pytest.approx(1)
    assert len(lines[1]["global/class_accuracy"]) == 10
    assert {"sample", "train", "aggregate", "evaluate", "checkpoint"} <= lines[1]["seconds"].keys()
    summary = json.loads((out / "summary.json").read_text())
    assert {
        "strategy",
        "recipe",
        "seed",
        "rounds",
        "final",
        "best",
        "seconds",
        "versions",
        "finished",
    } <= summary.keys()
    assert summary["finished"] is True and summary["rounds"] == 2
    assert "a = 0.4" in (out / "config.toml").read_text()
    assert "another run" in fails(capsys, "run", *SMALL, "--out", str(out))
    assert (
        main(["run", "--config", str(out / "config.toml"), "--out", str(tmp_path / "again"), "--state-folder", ""]) == 0
    )
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_own_data_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 5)).astype(np.float32), np.arange(80) % 3
    x[np.arange(80), y] += 3
    np.savez(tmp_path / "own.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    flags = ["--dataset", f"npz:{tmp_path / 'own.npz'}", "--partition", "iid", "--clients", "3", "--engine", "inline"]
    assert (
        main(["run", *flags, "--rounds", "15", "--lr", "0.2", "--batch-size", "10", "--out", str(tmp_path / "run")])
        == 0
    )
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["final"]["global/accuracy"] > 0.8
