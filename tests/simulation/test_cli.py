"""The command line as a user meets it: sentences for mistakes, exit codes, files that are there afterwards."""

from __future__ import annotations

import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fedloom.cli.main import main

SMALL = [
    "--dataset",
    "digits",
    "--model",
    "mlp:16",
    "--clients",
    "4",
    "--batch-size",
    "32",
    "--engine",
    "inline",
    "--rounds",
    "2",
]


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail; returns its one sentence."""
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    assert code == 2, captured
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert "Traceback" not in captured.err
    return lines[0]


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


def test_data_that_is_broken_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(
        tmp_path / "no-labels.npz",
        x_train=np.zeros((4, 2), dtype=np.float32),
        x_test=np.zeros((4, 2), dtype=np.float32),
    )
    line = fails(capsys, "run", "--dataset", f"npz:{tmp_path / 'no-labels.npz'}", "--out", str(tmp_path / "a"))
    assert "y_train" in line
    raw = tmp_path / "raw" / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for stem, count in (("train", 10), ("t10k", 5)):
        images = struct.pack(">IIII", 2051, count, 28, 28) + bytes(28 * 28 * count)
        (raw / f"{stem}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images[:-100]))
        (raw / f"{stem}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">II", 2049, count) + bytes(count))
        )
    monkeypatch.setenv("FEDLOOM_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("FEDLOOM_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no dpkg, no npm: nothing else to try
    code = main(["data", "fetch", "fashion-mnist"])
    told = capsys.readouterr().err
    assert code == 2
    assert "Traceback" not in told
    assert "train-images" in told


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


def test_sweep_and_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    assert main(["sweep", "--strategies", "fedavg,feddisco", "--seeds", "2", *SMALL, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "±" in told and "feddisco" in told
    assert (out / "report.html").exists()
    assert len(list(out.glob("*/summary.json"))) == 4
    assert (
        main(["report", str(out / "fedavg-seed0"), str(out / "feddisco-seed1"), "--out", str(tmp_path / "two.html")])
        == 0
    )
    assert (tmp_path / "two.html").stat().st_size > 100_000
    capsys.readouterr()
    assert "not a run folder" in fails(capsys, "report", str(tmp_path))
    assert "not empty" in fails(capsys, "sweep", "--strategies", "fedavg", *SMALL, "--out", str(out))
    assert "'nope'" in fails(capsys, "sweep", "--strategies", "fedavg,nope", *SMALL, "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_strategies_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies"]) == 0
    assert "feddisco" in capsys.readouterr().out
    assert main(["strategies", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    disco = next(entry for entry in listing["plugins"] if entry["name"] == "disco")
    assert {key: disco["parameters"][0][key] for key in ("key", "default")} == {"key": "disco.a", "default": 0.5}
    assert "ICML" in disco["paper"]
    assert main(["strategies", "feddyn+disco", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bases"][0]["parts"] == ["dyn", "disco"]
    assert "did you mean" in fails(capsys, "strategies", "feddino")


def test_partition_is_drawn_and_tabled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("p.png", "p.html"):
        assert (
            main(
                [
                    "partition",
                    "--dataset",
                    "digits",
                    "--clients",
                    "5",
                    "--partition",
                    "shards:2",
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
        assert (tmp_path / name).stat().st_size > 5_000
    told = capsys.readouterr().out
    assert "KL 1.6094" in told and "total variation 0.8000" in told
    assert ".html or .png" in fails(capsys, "partition", "--dataset", "digits", "--out", "p.gif")


def test_data_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    told = capsys.readouterr().out
    assert "fashion-mnist" in told and "cifar10" in told
    assert "Name the data sets" in fails(capsys, "data", "fetch")


def test_interrupt_leaves_a_valid_folder_and_a_resume_command(tmp_path: Path) -> None:
    """A real Ctrl-C in round 3: two rounds stay, and what comes next is printed."""
    out = tmp_path / "run"
    flags = [*SMALL, "--epochs", "60", "--rounds", "50", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "simulation", "run", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        if line.startswith("round 2/"):
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert f"--resume {out}" in told
    assert "Traceback" not in told
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    rounds = [line["round"] for line in lines]
    assert rounds[:3] == [0, 1, 2] and len(rounds) <= 4
    summary = json.loads((out / "summary.json").read_text())
    assert summary["finished"] is False and summary["rounds"] == rounds[-1]
    assert all(np.isfinite(value).all() for value in load_file(out / "model.safetensors").values())
