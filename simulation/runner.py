"""One run from start to finish: plan, folder, engine. `run` is what the command line and the tests call."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flwr.serverapp import Grid
from safetensors.numpy import load_file

from clients.state import entries_of
from fl_config.errors import ConfigError
from fl_config.options import PRIVATE, as_flat
from fl_config.toml import Scalar
from fl_data import names_clients
from fl_data.division import clients_of
from fl_protocol.code import trust
from fl_runs.folder import MODEL, STATE, default_folder
from fl_runs.plan import Plan, make_plan
from fl_runs.resume import resumed
from fl_runs.server import server_data
from fl_strategies.round.exchange import RunStopped
from fl_strategies.round.records import Observer, Record
from simulation.engines.cluster.travelling import CONTEXTS

if TYPE_CHECKING:
    from simulation.engines.ray_grid import RayGrid

log = logging.getLogger("fedloom")


@dataclass
class Run:
    """What a run left: its records, its model by state-dict names, and its folder."""

    metrics: list[Record]
    model: dict[str, Any]
    folder: Path
    finished: bool = True

    @property
    def rounds(self) -> int:
        return max((record["round"] for record in self.metrics), default=0)


def prepare(values: Mapping[str, Any]) -> Plan:
    """The plan, with absolute folders, so that all worker processes mean the same ones."""
    given = {key.replace("_", "-") if "." not in key else key: value for key, value in values.items()}
    plan = make_plan(resumed(given) if given.get("resume") else given)
    if plan.config.partition == PRIVATE:
        raise ConfigError(
            f"The partition {PRIVATE!r} is for clients on hosts of their own (`fedloom deploy submit`): here, say how the "
            "data is divided, such as --partition iid."
        )
    clients = (
        clients_of(plan.config, server_data(plan))[0] if names_clients(plan.config.partition) else plan.config.clients
    )
    out = plan.config.out
    if not plan.config.resume:
        out = str((Path(out) if out else default_folder(plan.config.strategy)).resolve())
    state = plan.config.state_folder or str((Path(out) / STATE).resolve())
    return plan.with_options(out=out, state_folder=state, clients=clients)


def ray_grid(plan: Plan, run_config: dict[str, Scalar]) -> RayGrid:
    from simulation.engines.ray_grid import RayGrid

    config = plan.config
    names = clients_of(config, server_data(plan))[1] if names_clients(config.partition) else None
    return RayGrid(
        "client_app:app",
        config.clients,
        run_config,
        workers=config.workers,
        gpus_per_client=config.gpus_per_client,
        address=config.ray_address,
        folder=str(Path(config.state_folder) / CONTEXTS),
        entries=lambda client: list(entries_of(names[client] if names else client)),
        per_round=max(1, math.ceil(config.fraction * config.clients)),
    )


def run(config: Mapping[str, Any], observers: Sequence[Observer] = (), stop: threading.Event | None = None) -> Run:
    """Run what the flat keys of `config` say (the flags of `fedloom run`); raises ConfigError before anything starts."""
    from server_app import make_app, open_server

    plan = prepare(config)
    trust()
    finished = True
    run_config: dict[str, Scalar] = as_flat(plan.config)
    with contextlib.ExitStack() as stack:
        grid: Grid | None = None
        if plan.config.engine == "ray":
            from simulation.engines.ray_start import found_running

            cluster = found_running()
            # First: it starts while the server prepares. A cluster may be refused, and then there is no run to be opened.
            grid = own = stack.enter_context(ray_grid(plan, run_config))
            if plan.config.ray_address or cluster:
                own.started()
        elif plan.config.engine == "inline":
            import client_app
            from simulation.engines.inline import InlineGrid

            grid = InlineGrid(client_app.app, plan.config.clients, run_config)
        server = open_server(plan, observers, stop)
        try:
            if grid is not None:
                server.run(grid)
            else:
                from simulation.engines.flower_runtime import run_flower

                run_flower(make_app(server), plan.config, run_config)
        except RunStopped:
            finished = False
    folder = server.folder.path
    model = dict(load_file(folder / MODEL)) if (folder / MODEL).exists() else {}
    return Run(server.folder.records, model, folder, finished)
