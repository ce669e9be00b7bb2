"""A client of a run: its share of the data, the model, its memory. Data and models stay in the process between rounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from clients.client import LocalClient
from clients.secure.masking import host_secret
from clients.state import FolderMemory, RecordMemory, entries_of
from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import PRIVATE, Options, options_of_run
from fl_data import Dataset, Samples, held_out_split, load
from fl_data.division import Division, names_of, samples_of
from fl_data.samples import home
from fl_models.spec import ModelSpec, flat_model, initial_state, model_spec, outputs_of
from fl_protocol.code import Code, code_of_client
from fl_protocol.messages import Setup
from fl_protocol.settings import LocalSettings, local_settings
from fl_protocol.types import ClientId
from fl_tasks import LABELS, Task, load_task

KEPT = 2  # runs whose clients this process may be
RUN_KEY = re.compile("[0-9a-f]{16}")  # becomes a folder's name, so nothing else may be in it


def client_of(run_config: Mapping[str, Any], node: Mapping[str, Any], state: Any, setup: Setup | None) -> LocalClient:
    """The client that this node is in the run: one of a divided data set, or the owner of private data."""
    config = options_of_run(run_config)
    if setup is None:  # a foreign strategy says nothing of the model or of held-out data
        setup = Setup(held_out=0.0 if config.held_out == "auto" else config.held_out)
    own = str(node["plugins"]) if "plugins" in node else ("" if "data" in node else None)
    code = code_of_client(config, own)
    private = config.partition == PRIVATE
    wanted = "data" if private else "partition-id"
    if wanted not in node:
        raise ConfigError(
            f"The run has the partition {config.partition!r}, but this node's configuration has no {wanted!r}."
        )
    if private:
        client = hosted_client(config, node, setup, state, code)
    else:
        client = simulated_client(config, int(node["partition-id"]), setup, state, code)
    if "name" in node:
        client.host = {"site": str(node["name"]), "software": version("fedloom")}
    return client


@dataclass(frozen=True)
class Simulated:
    """What the clients of a simulation have in common."""

    division: Division
    dataset: Dataset
    names: tuple[str, ...] | None
    task: Task
    spec: ModelSpec
    settings: LocalSettings
    folder: Path | None


_known: dict[tuple[int, int, Code], tuple[Options, Simulated]] = {}  # holding the options keeps their id their own


def simulated(config: Options, projection: int, code: Code) -> Simulated:
    """Looked up once per process: it takes longer than a small client trains."""
    key = id(config), projection, code
    if key not in _known:
        while len(_known) >= KEPT:
            del _known[next(iter(_known))]
        _known[key] = config, _looked_up(config, projection, code)
    return _known[key][1]


def _looked_up(config: Options, projection: int, code: Code) -> Simulated:
    task = load_task(config.task, code.task)
    division = Division.of(config, LABELS[task.family])
    dataset = division.load()
    spec = model_spec(config, dataset, projection, num_outputs=outputs_of(dataset), source=code.model)
    folder = Path(config.state_folder) if config.state_folder else None
    return Simulated(division, dataset, names_of(division), task, spec, local_settings(config), folder)


def simulated_client(config: Options, number: int, setup: Setup, state: Any, code: Code) -> LocalClient:
    """Client number `number` of a divided public data set, by name where the partition names its clients."""
    shared = simulated(config, setup.projection, code)
    train, held = samples_of(shared.division, number, setup.held_out, config.device, shared.dataset)
    client: ClientId = shared.names[number] if shared.names else number
    folder = shared.folder
    return LocalClient(
        flat_model(shared.spec, config.device),
        train,
        shared.dataset.num_classes,
        client_id=client,
        held_out=held,
        memory=FolderMemory(folder, client) if folder else RecordMemory(state),
        settings=shared.settings,
        initial=functools.partial(initial_state, shared.spec),
        task=shared.task,
        secret=functools.partial(secret_in, folder, client) if folder else None,
    )


def hosted_client(config: Options, node: Mapping[str, Any], setup: Setup, state: Any, code: Code) -> LocalClient:
    """A client on its own host, with private data that the node's configuration names; it remembers by run."""
    if "name" not in node:
        raise ConfigError("A node with data of its own needs a name in its configuration.")
    name = str(node["name"])
    if setup.run and not RUN_KEY.fullmatch(setup.run):
        raise ConfigError(f"The server names the run {setup.run!r}, which is no key of a run.")
    task = load_task(config.task, code.task)
    dataset = load(str(node["data"]), label=config.label, labels=LABELS[task.family], normalise=config.normalise)
    if not len(dataset.y_train):
        raise ConfigError(f"Client {name} has no training samples in its data.")
    everything = np.arange(len(dataset.y_train))
    train, held = held_out_split(everything, dataset.y_train, setup.held_out, config.seed, name)
    where = choose_device(config.device)
    lie = home(dataset, len(everything), where)
    samples = [Samples(dataset.x_train, dataset.y_train, dataset, where, part, home=lie) for part in (train, held)]
    folder = Path(str(node["state"])) if "state" in node else None
    spec = model_spec(config, dataset, setup.projection, num_outputs=outputs_of(dataset), source=code.model)
    return LocalClient(
        flat_model(spec, config.device),
        samples[0],
        dataset.num_classes,
        client_id=name,
        held_out=samples[1],
        memory=FolderMemory(folder / setup.run, name) if folder else RecordMemory(state),
        settings=local_settings(config),
        initial=functools.partial(initial_state, spec),
        class_names=dataset.class_names,
        task=task,
        secret=functools.partial(secret_in, folder, name) if folder else None,
    )


def secret_in(folder: Path, client: ClientId) -> bytes:
    """The secret that this host keeps for a client's secure sums."""
    return host_secret(folder / entries_of(client)[1])
