"""A client from the run's options: its share of the data, the model, its memory. Data and models stay in the process between rounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from clients.client import LocalClient
from clients.masking import host_secret
from clients.state import FolderMemory, Memory, RecordMemory
from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import Options
from fl_data import Samples, held_out_split, load
from fl_data.division import Division, samples_of
from fl_models.spec import flat_model, initial_state, model_spec
from fl_protocol.settings import local_settings

RUN_KEY = re.compile("[0-9a-f]{16}")  # becomes a folder's name, so nothing else may be in it
KEPT_CLIENTS = 64  # whose samples stay in memory


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
