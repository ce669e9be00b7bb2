"""FedSSA by class shares in whole runs: engines and resumes agree bit by bit, and it goes with other bases and BatchNorm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulation import Run, run

SMALL = {
    "dataset": "digits", "model": "mlp:16", "partition": "shards:2", "clients": 6, "fraction": 0.5, "rounds": 2,
    "target": "skew:0", "seed": 1, "batch_size": 32, "lr": 0.05, "ssa.shares_steps": 8,
}  # fmt: skip


def made(folder: Path, **changed: Any) -> Run:
    return run({**SMALL, "engine": "inline", "out": str(folder), **changed})


def same(one: Run, other: Run) -> None:
    for name, value in one.model.items():
        assert np.asarray(value).tobytes() == np.asarray(other.model[name]).tobytes(), name
    for key in ("ssa/weights", "ssa/shares", "ssa/shares_residual", "global/loss"):
        assert one.metrics[-1][key] == other.metrics[-1][key], key


def test_engines_and_resumes_give_the_same_bits(tmp_path: Path) -> None:
    options = {"strategy": "feddyn+ssa", "ssa.criterion": "shares", "ssa.mode": "every_round"}
    whole = made(tmp_path / "whole", **options)
    same(whole, made(tmp_path / "ray", engine="ray", **options))
    made(tmp_path / "half", **{**options, "rounds": 1})
    same(whole, run({"resume": str(tmp_path / "half"), "rounds": 2}))


@pytest.mark.parametrize(
    "changed",
    [
        {"strategy": "moon+ssa", "ssa.criterion": "shares"},
        {
            "strategy": "fedssa-shares",
            "model": "resnet20:bn",
            "partition": "iid",
            "fraction": 1.0,
            "clients": 3,
            "rounds": 1,
        },
    ],
    ids=["projection", "batch-norm"],
)
def test_it_goes_with_other_models(tmp_path: Path, changed: dict[str, Any]) -> None:
    last = made(tmp_path / "run", **changed).metrics[-1]
    assert sum(last["ssa/weights"]) == pytest.approx(1)
    assert sum(last["ssa/shares"]) == pytest.approx(1)
    assert last["dropped"] == []
