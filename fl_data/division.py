"""A public data set divided among simulated clients; parts and samples stay in the process between rounds."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import Options
from fl_data.dataset import Dataset, Labels, Normalise
from fl_data.label_skew import label_counts
from fl_data.partitions import Parts, client_names, partition
from fl_data.partitions.column import client_column
from fl_data.partitions.drawn import Drawn
from fl_data.samples import Samples, kept_bytes, residence
from fl_data.store import load
from fl_data.target import held_out_count, held_out_split

KEPT_BYTES = 2**28  # of samples that stay in memory; as many clients as would fit if all were like the last one
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
    left = np.array([size - held_out_count(size, held_out) for size in kinds.tolist()], dtype=np.int64)
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


_kept: OrderedDict[tuple[Division, int, float, str], tuple[Samples, Samples | None]] = OrderedDict()


def samples_of(
    division: Division, client: int, held_out: float, device: str, dataset: Dataset | None = None
) -> tuple[Samples, Samples | None]:
    """The training and the held-out samples of one client, None where nothing is held out.

    Whoever has the division's data set gives it: looking whether it is still the same one takes as long as a minibatch.
    """
    key = division, client, held_out, device
    dataset = dataset or division.load()
    if key in _kept and _kept[key][0].described is dataset:
        _kept.move_to_end(key)
        return _kept[key]
    train, held = held_out_split(parts_of(division)[client], dataset.y_train, held_out, division.seed, client)
    where = choose_device(device)
    lie = residence(dataset, where, len(dataset.y_train), len(train) + len(held))
    made: Callable[[NDArray[np.int64]], Samples] = functools.partial(
        Samples, dataset.x_train, dataset.y_train, dataset, where, home=torch.device("cpu") if lie == "host" else where
    )
    if lie == "whole":
        made = _whole(division, where).part
    samples = made(train), made(held) if len(held) else None
    most = max(1, kept_bytes(where, lie, KEPT_BYTES) // max(1, samples[0].nbytes))
    while len(_kept) >= most:
        _kept.popitem(last=False)
    _kept[key] = samples
    return samples


@functools.lru_cache(maxsize=1)
def _whole(division: Division, where: torch.device) -> Samples:
    dataset = division.load()
    return Samples(dataset.x_train, dataset.y_train, dataset, where)
