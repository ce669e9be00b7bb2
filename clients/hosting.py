"""A client of a run: its share of the data, the model, its memory. Data and models stay in the process between rounds."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clients.client import LocalClient
from clients.masking import host_secret
from clients.state import FolderMemory, Memory, RecordMemory, entries_of
from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.options import PRIVATE, Options, options_of_run
from fl_data import Samples, held_out_split, load
from fl_data.division import Division, names_of, samples_of
from fl_models.spec import flat_model, initial_state, model_spec, outputs_of
from fl_protocol.code import Code, code_of_client
from fl_protocol.messages import Setup
from fl_protocol.settings import local_settings
from fl_protocol.types import ClientId
from fl_tasks import LABELS, Task, load_task

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
        return hosted_client(config, node, setup, state, code)
    return simulated_client(config, int(node["partition-id"]), setup, state, code)


def simulated_client(config: Options, number: int, setup: Setup, state: Any, code: Code) -> LocalClient:
    """Client number `number` of a divided public data set, by name where the partition names its clients."""
    task = load_task(config.task, code.task)
    division = Division.of(config, LABELS[task.family])
    dataset = division.load()
    train, held = samples_of(division, number, setup.held_out, config.device)
    names = names_of(division)
    client: ClientId = names[number] if names else number
    folder = Path(config.state_folder) if config.state_folder else None
    memory: Memory = FolderMemory(folder, client) if folder else RecordMemory(state)
    secret = folder / entries_of(client)[1] if folder else None
    return _client(config, dataset, (train, held), client, memory, secret, setup, code, task)


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
    samples = [Samples(dataset.x_train, dataset.y_train, dataset, where, indices) for indices in (train, held)]
    folder = Path(str(node["state"])) if "state" in node else None
    memory: Memory = FolderMemory(folder / setup.run, name) if folder else RecordMemory(state)
    secret = folder / entries_of(name)[1] if folder else None
    told = dataset.class_names
    return _client(config, dataset, (samples[0], samples[1]), name, memory, secret, setup, code, task, told)


def _client(
    config: Options,
    dataset: Any,
    samples: tuple[Samples, Samples],
    client: ClientId,
    memory: Memory,
    secret: Path | None,
    setup: Setup,
    code: Code,
    task: Task,
    class_names: tuple[str, ...] = (),
) -> LocalClient:
    spec = model_spec(config, dataset, setup.projection, num_outputs=outputs_of(dataset), source=code.model)
    return LocalClient(
        flat_model(spec, config.device),
        samples[0],
        dataset.num_classes,
        client_id=client,
        held_out=samples[1],
        memory=memory,
        settings=local_settings(config),
        initial=functools.partial(initial_state, spec),
        class_names=class_names,
        task=task,
        secret=functools.partial(host_secret, secret) if secret else None,
    )
