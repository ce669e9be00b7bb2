"""The flower engine: Flower's own simulation runtime, on its Ray backend."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from fl_config.options import Options
from fl_config.toml import Scalar
from fl_protocol.flower.in_process import run_simulated
from simulation.engines.gpu.wishes import whole_gpus
from simulation.engines.worker_start import homes, settler

# Flower gives simulated clients only the run config of an app's pyproject.toml, so the engine writes one.
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


def app_for_workers() -> ClientApp:
    """Our client app for Flower's workers, which would import it from their current folder. It travels by value (`worker_start.py`)."""
    settle, found_in, current = settler(), homes(), str(Path.cwd())

    class OurApp(ClientApp):
        def __call__(self, message: Message, context: Context) -> Message:
            settle(found_in, current)
            from client_app import app

            return app(message, context)

    return OurApp()


def run_flower(server_app: ServerApp, config: Options, run_config: dict[str, Scalar]) -> None:
    """Like `flwr run`, but in this process, so that progress and Ctrl-C are ours."""
    os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("flwr").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    workers = config.workers or os.cpu_count() or 1
    backend: dict[str, Any] = {
        "client_resources": {"num_cpus": 1, "num_gpus": whole_gpus(config)},
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
        run_simulated(server_app, app_for_workers(), config.clients, run_config, folder, backend)
