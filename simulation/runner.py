"""One run from start to finish: plan, folder, engine. `run` is what the command line and the tests call."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flwr.serverapp import Grid

from clients.state import entries_of
from fl_config.errors import ConfigError
from fl_config.options import PRIVATE, as_flat
from fl_config.toml import Scalar
from fl_data import names_clients
from fl_data.division import clients_of
from fl_protocol.code import trust
from fl_runs.folder import STATE, default_folder
from fl_runs.plan import Plan, make_plan
from fl_runs.result import Run
from fl_runs.resume import resumed
from fl_runs.server import server_data
from fl_runs.tracking.tracking import chosen
from fl_strategies.round.exchange import RunStopped
from fl_strategies.round.records import Observer
from simulation.engines.cluster.travelling import CONTEXTS
from simulation.engines.gpu.wishes import clients_device, share_of
from simulation.engines.simulated_grid import SimulatedGrid
from simulation.own_clients import census_of

if TYPE_CHECKING:
    from simulation.engines.ray_grid import RayGrid

log = logging.getLogger("fedloom")


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
    for tracker in chosen(plan.config.track):
        tracker.check_installed()
    out = plan.config.out
    if not plan.config.resume:
        out = str((Path(out) if out else default_folder(plan.config.strategy)).resolve())
    if plan.config.state_folder:
        Path(plan.config.state_folder).mkdir(
            parents=True, exist_ok=True
        )  # else every client would fail, in every round
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
        gpus_per_client=share_of(config),
        address=config.ray_address,
        folder=str(Path(config.state_folder) / CONTEXTS),
        entries=lambda client: list(entries_of(names[client] if names else client)),
    )


def written_page(folder: Path) -> Path:
    """The report of one run, in its folder."""
    from simulation.report.page import write_report

    return write_report([folder], folder / "report.html")


def run(config: Mapping[str, Any], observers: Sequence[Observer] = (), stop: threading.Event | None = None) -> Run:
    """Run what the flat keys of `config` say (the flags of `fedloom run`); raises ConfigError before anything starts."""
    from server_app import make_app, open_server

    plan = prepare(config)
    trust()
    finished = True
    run_config: dict[str, Scalar] = as_flat(plan.config)
    if plan.config.engine != "inline":
        run_config["device"] = clients_device(plan.config)
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
        census = None if grid is None else census_of(plan)  # Flower's engine has nodes of its own choosing
        if isinstance(grid, SimulatedGrid) and census is not None:
            grid.foretell(census.sizes)
        server = open_server(plan, observers, stop, census, simulated=True)
        server.tracking.page = written_page
        try:
            if grid is not None:
                server.run(grid)
            else:
                from simulation.engines.flower_runtime import run_flower

                run_flower(make_app(server), plan.config, run_config)
        except RunStopped:
            finished = False
    return Run(server.folder.records, server.folder.path, finished)
