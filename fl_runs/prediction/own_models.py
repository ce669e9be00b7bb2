"""The models of a finished run: the global one, and a client's own as the run's last evaluation had it.

A client's own model may be parts that it kept (its files in the run's state folder), those of its cluster (in the checkpoint), and a
fine-tuning on its data. All of that comes about as it did in the run: the server's order of the last round is written again, and the
same client answers it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from clients.client import LocalClient
from clients.hosting import simulated_client
from clients.model_arrays import arrays_of
from clients.state import FolderMemory
from clients.topologies import build_topology
from clients.topologies.base import complete
from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_data import DataError, Samples
from fl_data.division import Division, names_of
from fl_models import Model
from fl_models.flat import FlatModel, load_buffers, parameter_names, state_to_vector
from fl_models.spec import build_model
from fl_protocol.arrays import from_record, to_record
from fl_protocol.messages import Setup
from fl_protocol.settings import local_settings
from fl_protocol.types import Arrays, ClientId
from fl_runs.folder import CHECKPOINT
from fl_runs.prediction.kept_run import KeptRun
from fl_runs.server import schedule
from fl_strategies.checkpoint import load_checkpoint
from fl_strategies.round.cohort import Population
from fl_strategies.round.membership import Membership, Questions
from fl_strategies.round.options import Participation
from fl_strategies.round.orders import Orders
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.weave import Weave
from fl_tasks import LABELS


def global_model(run: KeptRun) -> Model:
    """The model that the run saved, in eval mode."""
    if not run.plan.recipe.topology(run.plan.parameters).has_global:
        some = ", ".join(map(str, run.clients[:3]))
        raise ConfigError(
            f"{run.plan.config.strategy} has no model for everybody, each client has its own: say whose with --client "
            f"({some}{', ...' if len(run.clients) > 3 else ''})."
        )
    return with_arrays(run, run.arrays())


def with_arrays(run: KeptRun, arrays: Arrays) -> Model:
    """The run's architecture with these weights; laid out in memory as in the run, so that its outputs have the same bits."""
    flat = FlatModel(build_model(run.spec).to(choose_device(run.plan.config.device)))
    if odd := sorted(flat.model.state_dict().keys() ^ arrays.keys()):
        raise ConfigError(
            f"The saved model of {run.folder} does not fit {run.spec.name}: the array {odd[0]!r} is on one side only."
        )
    flat.load(state_to_vector(arrays, flat.names))
    load_buffers(flat, {name: value for name, value in arrays.items() if name not in flat.names})
    return flat.model.eval()


def ensemble(run: KeptRun, vectors: Mapping[str, Any]) -> list[Model]:
    """One model per vector, with the buffers of the run's global model."""
    made = [with_arrays(run, run.arrays()) for _ in vectors]
    for model, vector in zip(made, vectors.values(), strict=True):
        FlatModel(model).load(vector)
    return made


def client_model(run: KeptRun, client: ClientId) -> Model:
    """A client's own model in eval mode. The client's data are needed only where it was fine-tuned with them."""
    plan, built = run.plan, build_model(run.spec)
    state = load_checkpoint(run.folder / CHECKPOINT)
    setup = Setup(state.key, plan.recipe.projection, plan.held_out)
    members = Membership(Questions(), setup, 1, 0.0, 0.0, threading.Event())
    members.parameters, members.head_names = parameter_names(built), built.head_names()
    members.trunk_end = list(built.default_trunk_end)
    members.population = Population(dict.fromkeys(run.clients, 1))
    topology = plan.recipe.topology(plan.parameters)
    layout = topology.open({name: value.numpy() for name, value in built.state_dict().items()}, members)
    orders = Orders(
        plan.recipe,
        Weave(plan.recipe, plan.parameters, ServerResources.nothing()),
        topology,
        members,
        setup,
        Participation(),
        schedule(plan),
        local_settings(plan.config),
        plan.config.rounds,
    )
    arrays = to_record(layout.unpack(state.omega, state.buffers))
    order = orders.scoring(state.round, arrays, {}, state)(client)
    if order.personal_epochs:
        answering = _client(run, client)
        with one_thread():
            answering.score(order)
        # A copy: the client's own is one model per process, which the next client is given.
        return with_arrays(run, arrays_of(answering.flat))
    private = build_topology(*order.topology).private(built.state_dict(), built.head_names())
    remembered = FolderMemory(Path(plan.config.state_folder), client).load(order.acked_round)
    return with_arrays(run, complete(from_record(order.arrays), remembered, private))


def scored_on(run: KeptRun, client: ClientId) -> Samples:
    """The client's samples on which the run scored it."""
    answering = _client(run, client)
    return answering.held_out if answering.held_out is not None and len(answering.held_out) else answering.data


def _client(run: KeptRun, client: ClientId) -> LocalClient:
    plan = run.plan
    try:
        division = Division.of(plan.config, LABELS[plan.task.family])
        number = list(names_of(division) or range(plan.config.clients)).index(client)
        setup = Setup(projection=plan.recipe.projection, held_out=plan.held_out)
        return simulated_client(plan.config, number, setup, None, plan.code)
    except DataError as problem:
        raise ConfigError(
            f"This needs the data of client {client}, which are not here ({problem}) Start in the folder in which the run was started."
        ) from problem


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Clients compute with one thread wherever they run, so that their bits do not depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
