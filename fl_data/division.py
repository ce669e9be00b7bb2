"""A public data set divided among simulated clients; parts and samples stay in the process between rounds."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fl_config.device import choose_device
from fl_config.options import Options
from fl_data.dataset import Dataset
from fl_data.label_skew import label_counts
from fl_data.partitions import partition
from fl_data.samples import Samples
from fl_data.store import load
from fl_data.target import held_out_split

KEPT_CLIENTS = 64  # whose samples stay in memory


@dataclass(frozen=True)
class Division:
    """A public data set divided among simulated clients."""

    dataset: str
    partition: str
    clients: int
    seed: int
    min_samples: int

    @classmethod
    def of(cls, config: Options) -> Division:
        return cls(config.dataset, config.partition, config.clients, config.seed, config.min_samples)


@functools.lru_cache(maxsize=2)
def parts_of(division: Division) -> list[NDArray[np.int64]]:
    dataset = load(division.dataset)
    return partition(
        division.partition, dataset.y_train, division.clients, dataset.num_classes, division.seed, division.min_samples
    )


def counts_of(config: Options, dataset: Dataset) -> NDArray[np.int64]:
    """Label counts, clients by classes; known to a simulation only."""
    return label_counts(dataset.y_train, parts_of(Division.of(config)), dataset.num_classes)


@functools.lru_cache(maxsize=KEPT_CLIENTS)
def samples_of(division: Division, client: int, held_out: float, device: str) -> tuple[Samples, Samples]:
    dataset = load(division.dataset)
    train, held = held_out_split(parts_of(division)[client], dataset.y_train, held_out, division.seed, client)
    where = choose_device(device)
    return Samples(dataset.x_train, dataset.y_train, dataset, where, train), Samples(
        dataset.x_train, dataset.y_train, dataset, where, held
    )
