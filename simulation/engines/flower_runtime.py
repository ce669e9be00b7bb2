"""The flower engine: Flower's own simulation runtime, on its Ray backend."""

from __future__ import annotations

import json
import logging
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from flwr.app import Context, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.serverapp import ServerApp
from flwr.simulation.run_simulation import _run_simulation
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.supercore.telemetry import EventType

import client_app
from fl_config.options import Options
from fl_config.toml import Scalar

# Flower gives simulated clients the run config of an app's pyproject.toml only, so the engine writes one.
APP = """[project]
name = "fedloom-simulation"
version = "0.0.0"
license = "Apache-2.0"

[tool.flwr.app]
publisher = "fedloom"

[tool.flwr.app.components]
serverapp = "server_app:app"
clientapp = "client_app:app"

[tool.flwr.app.config]
"""


def run_flower(server_app: ServerApp, config: Options, run_config: dict[str, Scalar]) -> None:
    """Like `flwr run`, but in this process, so that progress and Ctrl-C are ours."""
    os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("flwr").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    run = Run.create_empty(run_id=secrets.randbits(63))
    run.primary_task_id, run.federation_id = 1, NOOP_FEDERATION_ID
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, run.run_id, SUPERLINK_NODE_ID
    workers = config.workers or os.cpu_count() or 1
    backend: Any = {
        "client_resources": {"num_cpus": 1, "num_gpus": config.gpus_per_client},
        "init_args": {
            "address": "local",
            "num_cpus": workers,
            "include_dashboard": False,
            "logging_level": "error",
            "log_to_driver": False,
        },
    }
    with tempfile.TemporaryDirectory(prefix="fedloom-app-") as folder:
        lines = [f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in run_config.items()]
        (Path(folder) / "pyproject.toml").write_text(APP + "".join(lines), encoding="utf-8")
        _run_simulation(
            num_supernodes=config.clients,
            client_app=client_app.app,
            server_app=server_app,
            backend_config=backend,
            run=run,
            app_dir=folder,
            is_app=True,
            server_app_context=Context(run.run_id, SUPERLINK_NODE_ID, {}, RecordDict(), dict(run_config)),
            exit_event=EventType.PYTHON_API_RUN_SIMULATION_LEAVE,
        )
