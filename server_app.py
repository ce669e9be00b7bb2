"""Flower ServerApp: run config -> plan -> strategy -> rounds. Wiring only."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fl_config.errors import ConfigError
from fl_runs.checkpoints import open_checkpoint
from fl_runs.folder import CHECKPOINT, METRICS, RunFolder, default_folder
from fl_runs.plan import Plan, plan_of_run
from fl_runs.resume import check_resumed
from fl_runs.server import Server
from fl_strategies.population.census import Census
from fl_strategies.round.records import Observer


def open_server(
    plan: Plan,
    observers: Sequence[Observer] = (),
    stop: threading.Event | None = None,
    census: Census | None = None,
    simulated: bool = False,
) -> Server:
    """The server of a plan, with its folder opened: a new one, or the one to resume."""
    config = plan.config
    if config.resume:
        path = Path(config.resume)
        # A run that was killed before its first checkpoint begins again.
        state = open_checkpoint(path / CHECKPOINT, path / METRICS)
        done = state.round if state else -1
        folder = RunFolder(path, plan.complete(), resume_after=done, save_every=config.save_every)
        return Server.of(plan, folder, observers, state, stop, census, simulated)
    path = Path(config.out) if config.out else default_folder(config.strategy)
    folder = RunFolder(path, plan.complete(), save_every=config.save_every)
    try:
        return Server.of(plan, folder, observers, None, stop, census, simulated)
    except (ConfigError, OSError):
        folder.discard()  # the corrected command may use the same folder
        raise


def make_app(server: Server | None = None, observers: Sequence[Observer] = ()) -> ServerApp:
    """A ServerApp for an opened server, or one that opens its own from the run config."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        if server is not None:
            server.run(grid)
            return
        plan = plan_of_run(context.run_config)
        if plan.config.resume:
            check_resumed(plan)
        open_server(plan, observers).run(grid)

    return app


app = make_app()
