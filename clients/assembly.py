"""A client from the run's options: its share of the data, the model, its memory. Data and models stay in the process between rounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from clients.client import LocalClient
from clients.device import choose_device
from clients.secure_sum import host_secret
from clients.state import FolderMemory, Memory, RecordMemory
from clients.training import LocalSettings
from fl_config.options import Options
from fl_config.params import ConfigError
from fl_data import Dataset, Samples, held_out_split, label_counts, load, partition
from fl_models import auto, build
from fl_models.flat import FlatModel

RUN_KEY = re.compile("[0-9a-f]{16}")  # becomes a folder's name, so nothing else may be in it
KEPT_CLIENTS = 64  # whose samples stay in memory


@dataclass(frozen=True)
class ModelSpec:
    """Everything that a model's architecture and initial weights depend on."""

    name: str
    shape: tuple[int, ...]
    num_classes: int
    kind: str
    vocabulary: int
    projection: int
    seed: int


def model_spec(config: Options, dataset: Dataset, projection: int) -> ModelSpec:
    name = auto(config.dataset, dataset.kind, dataset.shape) if config.model == "auto" else config.model
    return ModelSpec(
        name, dataset.shape, dataset.num_classes, dataset.kind, dataset.vocabulary, projection, config.seed
    )


def build_model(spec: ModelSpec) -> Any:
    return build(
        spec.name,
        spec.shape,
        spec.num_classes,
        kind=spec.kind,
        vocabulary=spec.vocabulary,
        projection=spec.projection,
        seed=spec.seed,
    )


@functools.lru_cache(maxsize=2)
def flat_model(spec: ModelSpec, device: str) -> FlatModel:
    return FlatModel(build_model(spec).to(choose_device(device)))


@functools.lru_cache(maxsize=2)
def initial_state(spec: ModelSpec) -> dict[str, NDArray[Any]]:
    """The seeded initial model by state-dict names; the flat model of the process has long been trained."""
    return {name: value.numpy() for name, value in build_model(spec).state_dict().items()}


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


def local_settings(config: Options) -> LocalSettings:
    return LocalSettings(
        epochs=config.epochs,
        batch_size=config.batch_size,
        lr=config.lr,
        initial_lr=config.lr,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        clip=config.clip,
        seed=config.seed,
        augment=config.augment,
        mixed_precision=config.mixed_precision,
    )


def simulated_client(config: Options, client: int, *, projection: int, held_out: float, state: Any) -> LocalClient:
    """Client number `client` of a partitioned public data set."""
    dataset = load(config.dataset)
    train, held = samples_of(Division.of(config), client, held_out, config.device)
    folder = Path(config.state_folder) if config.state_folder else None
    memory: Memory = FolderMemory(folder, client) if folder else RecordMemory(state)
    spec = model_spec(config, dataset, projection)
    return LocalClient(
        flat_model(spec, config.device),
        train,
        dataset.num_classes,
        client_id=client,
        held_out=held,
        memory=memory,
        settings=local_settings(config),
        initial=functools.partial(initial_state, spec),
        secret=functools.partial(host_secret, folder / f"{client}.secret") if folder else None,
    )


def hosted_client(
    config: Options, node: Mapping[str, Any], run: str = "", *, projection: int, held_out: float, state: Any
) -> LocalClient:
    """A client on its own host, with private data that the node's configuration names; it remembers by run."""
    if "name" not in node:
        raise ConfigError("A node with data of its own needs a name in its configuration.")
    name = str(node["name"])
    if run and not RUN_KEY.fullmatch(run):
        raise ConfigError(f"The server names the run {run!r}, which is no key of a run.")
    dataset = load(str(node["data"]))
    if not len(dataset.y_train):
        raise ConfigError(f"Client {name} has no training samples in its data.")
    everything = np.arange(len(dataset.y_train))
    train, held = held_out_split(everything, dataset.y_train, held_out, config.seed, name)
    where = choose_device(config.device)
    samples = [Samples(dataset.x_train, dataset.y_train, dataset, where, indices) for indices in (train, held)]
    folder = Path(str(node["state"])) if "state" in node else None
    memory: Memory = FolderMemory(folder / run, name) if folder else RecordMemory(state)
    spec = model_spec(config, dataset, projection)
    return LocalClient(
        flat_model(spec, config.device),
        samples[0],
        dataset.num_classes,
        client_id=name,
        held_out=samples[1],
        memory=memory,
        settings=local_settings(config),
        initial=functools.partial(initial_state, spec),
        class_names=dataset.class_names,
        secret=functools.partial(host_secret, folder / f"{quote(name, safe='')}.secret") if folder else None,
    )
