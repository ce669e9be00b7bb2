"""Batch normalisation cannot train on one value per channel: clients whose last minibatch has one sample are told before the start."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fl_config.errors import ConfigError
from fl_data import Dataset, Samples
from fl_data.division import Division, clients_of, sizes_of
from fl_data.target import held_out_count
from fl_runs.plan import Plan

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
FARTHEST = 1000  # how much larger a batch size may be that is proposed


def check_last_batches(plan: Plan, dataset: Dataset, model: Any, name: str) -> None:
    """Refuse a simulation in which a client would fail in every round; nobody here knows the sizes of private data."""
    if plan.private or not any(isinstance(module, NORMS) for module in model.modules()):
        return
    config = plan.config
    sizes = sizes_of(Division.of(config, dataset.labels))
    kept = np.array([size - held_out_count(int(size), plan.held_out) for size in sizes])
    lone = np.flatnonzero(ends_alone(kept, config.batch_size))
    if not len(lone) or trains_on_one(model, dataset):
        return
    names = clients_of(config, dataset)[1]
    first = names[lone[0]] if names else lone[0]
    more = f", and so has that of {len(lone) - 1} more" if len(lone) > 1 else ""
    others = range(config.batch_size + 1, config.batch_size + FARTHEST)
    fits = next((size for size in others if not ends_alone(kept, size).any()), None)
    what_to_do = f"choose --batch-size {fits}" if fits else "raise --min-samples"
    raise ConfigError(
        f"With --batch-size {config.batch_size} the last batch of client {first} ({kept[lone[0]]} training samples) has one "
        f"sample{more}, on which the batch normalisation of {name} cannot train: {what_to_do}, or take another model."
    )


def ends_alone(sizes: NDArray[np.int64], batch_size: int) -> NDArray[np.bool_]:
    """Which clients have a minibatch of one sample; batch size 0 is the full batch."""
    if batch_size == 1:
        return np.ones(len(sizes), dtype=bool)
    return np.equal(sizes % batch_size if batch_size else sizes, 1)


def trains_on_one(model: Any, dataset: Dataset) -> bool:
    """Whether the model trains on one sample, as one does whose normalised maps have several places."""
    x, _ = Samples(dataset.x_train, None, dataset, torch.device("cpu"), np.arange(1)).batch(slice(None))
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            copy.deepcopy(model).train().outputs(x)
        except ValueError as error:
            return "more than 1 value per channel" not in str(error)
    return True
