"""A public data set divided among simulated clients; parts and samples stay in the process between rounds."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import Options
from fl_data.dataset import Dataset, Labels, Normalise
from fl_data.label_skew import label_counts
from fl_data.partitions import Parts, client_names, partition
from fl_data.partitions.column import client_column
from fl_data.partitions.drawn import Drawn
from fl_data.samples import Samples
from fl_data.store import load
from fl_data.target import held_out_size, held_out_split

KEPT_CLIENTS = 64  # whose samples stay in memory
MOST_SHOWN, SHOWN = 10_000, 200  # up to so many clients are all shown in pictures and tables; of more, so many


@dataclass(frozen=True)
class Division:
    """A public data set divided among simulated clients."""

    dataset: str
    partition: str
    clients: int
    seed: int
    min_samples: int
    label: str = ""
    labels: Labels = "classes"
    normalise: Normalise = "auto"

    @classmethod
    def of(cls, config: Options, labels: Labels = "classes") -> Division:
        """The division of a run; `labels` is what its task predicts."""
        return cls(
            config.dataset, config.partition, config.clients, config.seed, config.min_samples,
            config.label, labels, config.normalise,
        )  # fmt: skip

    def load(self) -> Dataset:
        return load(
            self.dataset,
            label=self.label,
            labels=self.labels,
            column=client_column(self.partition),
            normalise=self.normalise,
        )


def dataset_of(config: Options, labels: Labels = "classes") -> Dataset:
    """The data set of a run, as its partition, label column and normalisation want it."""
    return Division.of(config, labels).load()


def clients_of(config: Options, dataset: Dataset) -> tuple[int, tuple[str, ...] | None]:
    """How many clients a run has, and their names where the partition names them: its number is then the run's.

    `--clients` must be that number or stay at its default; another one is an error and not silently ignored.
    """
    names = client_names(config.partition, dataset)
    if names is None:
        return config.clients, None
    if config.clients not in (len(names), Options.model_fields["clients"].default):
        raise ConfigError(
            f"--partition {config.partition!r} has {len(names)} clients ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''}), "
            f"but --clients is {config.clients}; leave --clients out or set it to {len(names)}."
        )
    return len(names), names


@functools.lru_cache(maxsize=2)
def names_of(division: Division) -> tuple[str, ...] | None:
    """The clients' names, where the partition has names; None where clients are numbered."""
    return client_names(division.partition, division.load())


@functools.lru_cache(maxsize=2)
def parts_of(division: Division) -> Parts:
    """The sample indices of every client; those of `drawn:` are computed when they are asked for."""
    dataset = division.load()
    return partition(
        division.partition, dataset.y_train, division.clients, dataset.num_classes, division.seed, division.min_samples,
        dataset.columns,
    )  # fmt: skip


def sizes_of(division: Division) -> NDArray[np.int64]:
    """The number of training samples of every client; cheap for a million clients of `drawn:`."""
    parts = parts_of(division)
    return parts.sizes() if isinstance(parts, Drawn) else np.array([len(part) for part in parts], dtype=np.int64)


def training_sizes(division: Division, held_out: float) -> NDArray[np.int64]:
    """The number of samples that every client trains on, without those that it keeps back."""
    kinds, which = np.unique(sizes_of(division), return_inverse=True)
    left = np.array([size - held_out_size(size, held_out) for size in kinds.tolist()], dtype=np.int64)
    return left[which]


def training_counts(division: Division, client: int, held_out: float) -> NDArray[np.int64]:
    """The samples of each class that one client trains on."""
    parts, dataset = parts_of(division), division.load()
    if isinstance(parts, Drawn) and not held_out:
        return parts.counts(client)
    train, _ = held_out_split(parts[client], dataset.y_train, held_out, division.seed, client)
    return np.bincount(np.asarray(dataset.y_train)[train], minlength=dataset.num_classes)


class ClientCounts(Sequence[NDArray[np.int64]]):
    """The label counts of each client, computed when they are asked for; for populations that nobody wants to count."""

    def __init__(self, config: Options, dataset: Dataset) -> None:
        self._parts = parts_of(Division.of(config, dataset.labels))
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, client: int) -> NDArray[np.int64]: ...
    @overload
    def __getitem__(self, client: slice) -> list[NDArray[np.int64]]: ...
    def __getitem__(self, client: int | slice) -> NDArray[np.int64] | list[NDArray[np.int64]]:
        if isinstance(client, slice):
            return [self[number] for number in range(*client.indices(len(self)))]
        if isinstance(self._parts, Drawn):
            return self._parts.counts(client)
        one: NDArray[np.int64] = label_counts(self._dataset.y_train, [self._parts[client]], self._dataset.num_classes)[
            0
        ]
        return one


def shown_clients(count: int) -> list[int]:
    """The numbers of the clients that pictures and tables show: all, or of very many some that are spread evenly."""
    if count <= MOST_SHOWN:
        return list(range(count))
    return [round(place) for place in np.linspace(0, count - 1, SHOWN).tolist()]


def shown_counts(config: Options, dataset: Dataset) -> NDArray[np.int64]:
    """Label counts of the clients that are shown."""
    counts = ClientCounts(config, dataset)
    if len(counts) <= MOST_SHOWN:
        return counts_of(config, dataset)
    return np.stack([counts[client] for client in shown_clients(len(counts))])


def counts_of(config: Options, dataset: Dataset) -> NDArray[np.int64]:
    """Label counts, clients by classes; known to a simulation only. Every client is looked at: see `ClientCounts`."""
    parts = parts_of(Division.of(config, dataset.labels))
    if isinstance(parts, Drawn):
        return np.stack([parts.counts(client) for client in range(len(parts))])
    return label_counts(dataset.y_train, parts, dataset.num_classes)


@functools.lru_cache(maxsize=KEPT_CLIENTS)
def samples_of(division: Division, client: int, held_out: float, device: str) -> tuple[Samples, Samples]:
    """The training and the held-out samples of one client."""
    dataset = division.load()
    train, held = held_out_split(parts_of(division)[client], dataset.y_train, held_out, division.seed, client)
    where = choose_device(device)
    return Samples(dataset.x_train, dataset.y_train, dataset, where, train), Samples(
        dataset.x_train, dataset.y_train, dataset, where, held
    )
