"""Flower's simulation runtime in this process. Its public `run_simulation` gives clients no run config; the function below it does."""

from __future__ import annotations

import secrets
from typing import Any

from flwr.app import Context, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.simulation.run_simulation import _run_simulation
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.telemetry import EventType

from fl_config.toml import Scalar
from fl_protocol.flower.envelope import SUPERLINK_NODE_ID, TASK, begin_run


def run_simulated(
    server_app: ServerApp,
    client_app: ClientApp,
    nodes: int,
    run_config: dict[str, Scalar],
    app_folder: str,
    backend: dict[str, Any],
) -> None:
    """Run the two apps; clients get the run config of the `pyproject.toml` in `app_folder`, the server gets `run_config`."""
    run = begin_run(secrets.randbits(63))
    run.primary_task_id, run.federation_id = TASK, NOOP_FEDERATION_ID
    settings: Any = backend
    _run_simulation(
        num_supernodes=nodes,
        client_app=client_app,
        server_app=server_app,
        backend_config=settings,
        run=run,
        app_dir=app_folder,
        is_app=True,
        server_app_context=Context(run.run_id, SUPERLINK_NODE_ID, {}, RecordDict(), dict(run_config)),
        exit_event=EventType.PYTHON_API_RUN_SIMULATION_LEAVE,
    )
