"""Our FedAvg beside a plain PyTorch loop that draws the split of NIID-Bench once more: the same clients, the same model."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from experiments.bare_loop import Setting, compared, rounds, samples, split
from experiments.measure import subset
from fl_data import load
from fl_models.building import build
from simulation import run

PUBLISHED = [6370, 2405, 6357, 6470, 7449, 6873, 4416, 8072, 4399, 7189]  # samples of their ten clients, seed 42


def test_the_split_drawn_once_more_has_the_published_sizes() -> None:
    labels = np.asarray(load("fashion-mnist").y_train)
    assert [len(part) for part in split(labels, 10, 0.5, 42)] == PUBLISHED


def test_the_bare_loop_gives_our_model(tmp_path: Path) -> None:
    """Two rounds with momentum, decay and unequal clients; only rounding tells them apart, and other orders do more."""
    data = subset("fashion-mnist", 20, tmp_path)
    setting = Setting(dataset=data, clients=3, epochs=2, batch_size=16)
    options = {
        "dataset": data, "partition": "capped:0.5", "model": "lenet", "normalise": "none", "clients": 3, "seed": 42,
        "rounds": 2, "epochs": 2, "batch-size": 16, "lr": 0.01, "momentum": 0.9, "weight-decay": 1e-5,
    }  # fmt: skip
    made = run({**options, "engine": "inline", "out": str(tmp_path / "run")})
    states = list(islice(rounds(setting, 1), 3))
    names = list(build("lenet", (1, 28, 28), 10).state_dict())  # a file of tensors has them by the alphabet
    ours = [np.asarray(made.model[name]) for name in names]
    for name, array, theirs in zip(names, ours, states[-1][0].values(), strict=True):
        np.testing.assert_allclose(array, theirs.numpy(), atol=2e-6, err_msg=name)
    assert states[-1][1] == pytest.approx(made.metrics[-1]["global/accuracy"], abs=5e-4)
    (other, _) = list(islice(rounds(replace(setting, orders="own"), 1), 3))[-1]
    assert np.abs(ours[0] - next(iter(other.values())).numpy()).max() > 1e-3
    assert sum(len(labels) for _, labels in samples(setting)[0]) == 200


def test_it_is_shown_beside_our_result(tmp_path: Path) -> None:
    kept = tmp_path / "bare.json"
    kept.write_text(json.dumps({"setting": asdict(Setting()), "accuracy": [0.1, 0.5, 0.625], "made": {}}))
    told = compared([kept], Path(__file__).parents[2] / "experiments" / "results")
    assert "| bare | bare loop | 50.00 | 62.50 |" in told and "| bare | ours | 4" in told
