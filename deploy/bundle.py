"""The app that `flwr run` submits: a few lines that import the FedLoom installed on each host.

No code travels to the clients this way: a host runs what its owner installed, and that must be the version which
submitted the run.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from fl_runs.run_config import block

PROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "fedloom"
version = "{version}"
description = "Federated learning on data that is not the same everywhere"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "fedloom"

[tool.flwr.app.components]
serverapp = "fedloom_app:server"
clientapp = "fedloom_app:client"

{run_config}"""

WIRING = '''"""FedLoom's apps, from the package that is installed here."""

from importlib.metadata import version

from deploy.apps import client, server

if version("fedloom") != "{version}":
    raise RuntimeError(f"The run was submitted with FedLoom {version}, this host has {{version('fedloom')}}.")
__all__ = ["client", "server"]
'''


def write_app(folder: Path) -> Path:
    """Write an app folder for `flwr run` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    here = version("fedloom")
    (folder / "pyproject.toml").write_text(PROJECT.format(version=here, run_config=block()), encoding="utf-8")
    (folder / "fedloom_app.py").write_text(WIRING.format(version=here), encoding="utf-8")
    return folder
