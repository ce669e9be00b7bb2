"""Whole runs whose updates are summed under masks: the same bits on the engines and after a resume, close to those without masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from fedloom.cli.main import main
from simulation import run

RUN: dict[str, Any] = {
    "dataset": "digits",
    "model": "mlp:8",
    "strategy": "fedexp+disco+moon",
    "partition": "dirichlet:0.5",
    "clients": 8,
    "fraction": 0.5,
    "rounds": 3,
    "lr": 0.1,
    "device": "cpu",
    "engine": "inline",
    "secure-aggregation": True,
}
MODEL = "model.safetensors"


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masked") / "run"
    run({**RUN, "out": str(folder)})
    return folder


def test_without_masks_the_model_is_the_same_but_for_the_rounding(masked: Path, tmp_path: Path) -> None:
    plain = run({**RUN, "secure-aggregation": False, "out": str(tmp_path / "plain")})
    ours, theirs = load_file(masked / MODEL), load_file(plain.folder / MODEL)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=0, atol=1e-5)


def test_masks_leave_no_trace_in_the_bits_on_ray(masked: Path, tmp_path: Path) -> None:
    other = run({**RUN, "engine": "ray", "workers": 2, "out": str(tmp_path / "ray")})
    assert (other.folder / MODEL).read_bytes() == (masked / MODEL).read_bytes()
    assert all(line["secure/survived"] == 4 for line in other.metrics[1:])


def test_a_resumed_run_ends_with_the_same_bits(masked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run({**RUN, "rounds": 1, "out": str(folder)})
    run({"resume": str(folder), "rounds": 3})
    assert (folder / MODEL).read_bytes() == (masked / MODEL).read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--strategy", "scaffold"], "'scaffold' needs every client's update by itself"),
        (["--strategy", "fedper"], "'per' has clients keep or send something else than one model for all"),
        (["--score", "server,cohort"], "--score cohort needs the clients' models"),
        (["--max-update-norm", "1"], "--max-update-norm has it look at each of them"),
        (["--dp-clip", "1"], "--dp local has a client noise the reply"),
        (["--clients", "2"], "sums over 3 or more clients, but 2 would take part"),
        (["--fraction", "0.2"], "sums over 3 or more clients, but 2 would take part"),
        (["--secure-threshold", "0.5"], "secure-threshold"),
    ],
)
def test_what_cannot_be_together_is_a_sentence_before_the_start(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["run", "--dataset", "digits", "--secure-aggregation", "--out", str(out), *words]) == 2
    assert sentence in capsys.readouterr().err and not out.exists()
