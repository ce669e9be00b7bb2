"""Clients and server on another device than the CPU: nothing is mixed up, and the model is the CPU's, wherever the samples lie."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import clients.hosting
import fl_data.division
import fl_models.spec
import fl_runs.server
from simulation import run
from tests.methods.pretended_device import PRETENDED, MixedDevices, Pretending

SMALL = {"dataset": "digits", "clients": 3, "rounds": 1, "engine": "inline", "batch-size": 250, "model": "mlp:16"}
Train = Callable[..., dict[str, Any]]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    """The model of a run on a device, or its complaints."""

    def forget() -> None:
        fl_data.division._kept.clear()
        fl_data.division._whole.cache_clear()
        fl_models.spec.flat_model.cache_clear()

    def on(device: torch.device, **options: Any) -> dict[str, Any]:
        forget()
        for module in (clients.hosting, fl_data.division, fl_models.spec):
            monkeypatch.setattr(module, "choose_device", lambda _: device)
        monkeypatch.setattr(fl_runs.server, "server_device", lambda _: device)
        out = tmp_path / device.type
        with Pretending() if device == PRETENDED else contextlib.nullcontext():
            done = run({**SMALL, **options, "out": str(out)})
        assert not done.metrics[-1].get("dropped")
        return done.model

    yield on
    forget()


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_the_pretended_device_refuses_what_a_gpu_would() -> None:
    with Pretending():
        there = torch.ones(3, device=PRETENDED)
        assert (there + there).device == PRETENDED
        assert (2 * there + torch.tensor(1.0)).cpu().tolist() == [3, 3, 3]
        with pytest.raises(MixedDevices):
            there + torch.ones(3)
        with pytest.raises(MixedDevices):
            torch.rand(3, device=PRETENDED, generator=torch.Generator())
        with pytest.raises(TypeError):
            there.numpy()


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "feddyn+disco+asd", "momentum": 0.9, "clip": 1.0, "weight-decay": 0.01},
        {"strategy": "moon+ntd+decorr", "model": "lenet", "augment": "crop-flip"},
        {"strategy": "fedssa"},
        {"strategy": "feddf"},
        {"strategy": "fedbabu", "personal-epochs": 1, "metrics": "macro-f1"},
        {"strategy": "fedsam", "batch-size": 0},
    ],
    ids=lambda options: str(options["strategy"]),
)
def test_a_run_there_gives_the_model_of_a_run_here(train: Train, options: dict[str, Any]) -> None:
    assert same(train(PRETENDED, **options), train(torch.device("cpu"), **options))


@pytest.mark.parametrize("lie", ["whole", "host"])
def test_where_samples_lie_does_not_change_the_model(train: Train, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"strategy": "moon", "model": "lenet", "augment": "crop-flip", "held-out": 0.2}
    here = train(torch.device("cpu"), **options)
    monkeypatch.setattr(fl_data.division, "residence", lambda *_: lie)
    assert same(train(PRETENDED, **options), here)
