"""The targets that `target_study.py` asks about: those that the server may well have, and odd ones that break what class shares assume."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fl_data import Dataset, Samples, target_set
from fl_data.division import counts_of
from fl_runs.plan import Plan
from fl_strategies.round.cohort import Cohort, weighted_sum
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weights
from fl_tasks.classification import evaluate as evaluate_classes

Images = np.ndarray[Any, np.dtype[Any]]
TARGETS = [*(f"skew:{client}" for client in range(5)), "imbalanced:100", "uniform"]
HELD = 8  # classes that somebody has where targets are odd


def pairs_file(data: Dataset, path: Path, clients: int) -> str:
    labels = np.asarray(data.y_train)
    own = [np.flatnonzero((labels == 2 * k) | (labels == 2 * k + 1)).tolist() for k in range(clients)]
    path.write_text(json.dumps(own))
    return f"file:{path}"


class Target:
    """One target: what the server sees of it, and its labelled copy for the score."""

    def __init__(self, name: str, x: Images, y: Images | None, data: Dataset) -> None:
        cpu = torch.device("cpu")
        self.name, self.seen, self.labelled = name, Samples(x, None, data, cpu), Samples(x, y, data, cpu)

    def accuracy(self, cohort: Cohort, server: ServerResources, weights: Weights) -> float:
        vector = (cohort.sent + weighted_sum(weights, cohort.updates)).astype(np.float32)
        return float(evaluate_classes(server.model(vector).model, self.labelled).accuracy)


def usual_targets(plan: Plan, data: Dataset) -> list[Target]:
    counts = counts_of(plan.config, data)
    return [Target(spec, *target_set(spec, data, counts, plan.config.seed), data) for spec in TARGETS]


def odd_targets(data: Dataset, seed: int) -> list[Target]:
    """The held classes as they are, with strangers among them, strangers alone, and the held classes in other pictures."""
    x, y = np.asarray(data.x_test), np.asarray(data.y_test)
    held, last = y < HELD, y >= HELD - 2
    noise = np.random.default_rng(seed).normal(0, 64, x[held].shape)
    altered: dict[str, Callable[[Images], Images]] = {
        "upside down": lambda x: x[:, :, ::-1],
        "in the corner": lambda x: np.roll(x, (7, 7), (2, 3)),
        "noisy": lambda x: np.clip(x + noise, 0, 255),
        "inverted": lambda x: 255 - x,
    }
    return [
        Target("held", x[held], y[held], data),
        Target("a fifth unseen", x, y, data),
        Target("half unseen", x[last], y[last], data),
        Target("all unseen", x[~held], y[~held], data),
        *(Target(name, change(x[held]).astype(np.uint8), y[held], data) for name, change in altered.items()),
    ]
