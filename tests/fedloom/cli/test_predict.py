"""`fedloom predict`: weights learned for each sample from the clients' last models, beside the plain ensemble."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from fedloom.cli.main import main

RUN = [
    "run",
    "--dataset",
    "digits",
    "--partition",
    "shards:2",
    "--clients",
    "5",
    "--model",
    "mlp:32",
    "--lr",
    "0.1",
    "--engine",
    "inline",
]


def test_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert (
        main([*RUN, "--strategy", "fedssa", "--set", "ssa.mode=sample_wise", "--rounds", "3", "--out", str(out)]) == 0
    )
    assert main([*RUN, "--strategy", "fedavg", "--rounds", "3", "--out", str(tmp_path / "plain")]) == 0
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "plain" / "model.safetensors").read_bytes()
    vectors = load_file(out / "client_models.safetensors")
    assert set(vectors) == {"0", "1", "2", "3", "4"}
    weights = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()][-1]["weights"]
    mean = sum(w * vectors[str(i)].astype(np.float64) for i, w in enumerate(weights))
    model = np.concatenate([value.ravel() for value in load_file(out / "model.safetensors").values()])
    assert len(mean) == len(model)
    np.testing.assert_allclose(np.sort(mean), np.sort(model), atol=1e-5)  # safetensors sorts names
    capsys.readouterr()
    for name in ("a.jsonl", "b.jsonl"):
        assert main(["predict", str(out), "--samples", "40", "--out", str(tmp_path / name)]) == 0
    told = capsys.readouterr().out
    assert "accuracy, plain ensemble" in told and "5 client models" in told
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(lines) == 40
    assert all(sum(line["weights"]) == pytest.approx(1) for line in lines)
    assert main(["predict", str(out), "--samples", "40", "--steps", "0", "--out", str(tmp_path / "c.jsonl")]) == 0
    assert all(
        line["learned"] == line["ensemble"] for line in map(json.loads, (tmp_path / "c.jsonl").read_text().splitlines())
    )
    capsys.readouterr()
    for arguments, word in (
        (["predict", str(tmp_path / "plain")], "ssa.mode=sample_wise"),
        (["predict", str(tmp_path)], "not a run folder"),
        (["predict", str(out), "--views", "0"], "--views"),
    ):
        assert main(arguments) == 2
        assert word in capsys.readouterr().err
