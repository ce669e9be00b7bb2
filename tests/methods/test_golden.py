"""One golden short run per base: three rounds with a fixed seed must keep giving the recorded figures.

Tolerance: 2e-3 absolute on accuracy and loss, 1e-3 relative on the model's norm; other processors round differently. FedDecorr runs with a tenth
of its weight: with all of it, rounding alone moves the accuracy of so small a run by two points from one processor to another, so that it is held
to these figures after one round, and loosely after three.
After a deliberate change: `FEDLOOM_GOLDEN=write .venv/bin/pytest tests/methods/test_golden.py`, and say why in the commit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_strategies.recipes import BASES
from simulation import run

FILE = Path(__file__).with_name("golden.json")
FEDDECORR = Path(__file__).with_name("golden_feddecorr.json")
CONFIG = {
    "dataset": "digits",
    "model": "mlp:32",
    "partition": "dirichlet:0.3",
    "clients": 5,
    "fraction": 0.6,
    "rounds": 3,
    "epochs": 2,
    "batch_size": 32,
    "lr": 0.1,
    "lr_decay": 0.99,
    "clip": 10.0,
    "weight_decay": 1e-3,
    "seed": 7,
    "engine": "inline",
}
OWN = {"feddecorr": {"decorr.lam": 0.01}}


def figures(base: str, folder: Path, own: Mapping[str, Any]) -> dict[str, float]:
    result = run({**CONFIG, **own, "strategy": base, "out": str(folder)})
    last = result.metrics[-1]
    norm = float(
        np.sqrt(sum(float((np.asarray(value, dtype=np.float64) ** 2).sum()) for value in result.model.values()))
    )
    kept = {
        key: last[key] for key in ("global/accuracy", "global/loss", "personal/accuracy", "train/loss") if key in last
    }
    return {**kept, "norm": norm}


@pytest.mark.parametrize("base", list(BASES))
def test_a_base_still_gives_its_recorded_figures(base: str, tmp_path: Path) -> None:
    now = figures(base, tmp_path / "run", OWN.get(base, {}))
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("FEDLOOM_GOLDEN") == "write":
        FILE.write_text(json.dumps({**known, base: now}, indent=1, sort_keys=True) + "\n")
        return
    assert base in known, f"no golden figures for {base}: write them"
    agree(now, known[base])


def agree(now: Mapping[str, float], recorded: Mapping[str, float], near: float = 2e-3) -> None:
    assert recorded.keys() == now.keys()
    for key, value in recorded.items():
        assert now[key] == pytest.approx(value, rel=near / 2, abs=0 if key == "norm" else near), key


@pytest.mark.parametrize(("rounds", "near"), [(1, 2e-3), (3, 0.05)])
def test_feddecorr_with_all_of_its_weight(rounds: int, near: float, tmp_path: Path) -> None:
    now = figures("feddecorr", tmp_path / "run", {"rounds": rounds})
    agree(now, json.loads(FEDDECORR.read_text())[str(rounds)], near)


def test_different_methods_have_different_figures() -> None:
    """A part that is silently not applied would share FedAvg's figures."""
    known = json.loads(FILE.read_text())
    plain = known["fedavg"]
    for base, recorded in known.items():
        if base != "fedavg":
            assert recorded["norm"] != plain["norm"] or recorded.get("global/loss") != plain["global/loss"], base
