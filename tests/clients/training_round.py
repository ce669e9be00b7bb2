"""One local round on made-up data, and one call that trains it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from clients.objectives.base import LocalRound, Objective
from clients.optimizers import build_optimizer
from clients.training import FrozenModels, train
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel
from fl_protocol.settings import LocalSettings

RNG = np.random.default_rng(1)
X = RNG.normal(size=(24, 5)).astype(np.float32)
Y = RNG.integers(0, 3, size=24)
SETTINGS = LocalSettings(lr=0.1, batch_size=8, seed=3)


def local_round(model: str = "linear", settings: LocalSettings = SETTINGS) -> LocalRound:
    flat = FlatModel(build(model, (5,), 3, kind="features", seed=1))
    data = Samples(X, Y)
    frozen = FrozenModels(flat, data, cached=True)
    probs = torch.bincount(torch.from_numpy(Y), minlength=3) / len(Y)
    return LocalRound(
        1,
        flat,
        flat.theta.clone(),
        data,
        probs,
        settings.lr,
        settings.lr,
        settings.epochs,
        settings.momentum,
        frozen.outputs,
    )


def run(
    r: LocalRound,
    objectives: list[Objective],
    optimizer: tuple[str, dict[str, Any]] = ("sgd", {}),
    settings: LocalSettings = SETTINGS,
    **more: Any,
) -> float:
    return train(r, settings, objectives, build_optimizer(*optimizer), 0, **more)
