"""The app folder that is submitted."""

from __future__ import annotations

import tomllib
from pathlib import Path

from deploy.bundle import write_app
from fl_runs.run_config import defaults


def test_the_app_declares_every_option_and_imports_the_installed_package(tmp_path: Path) -> None:
    project = tomllib.loads((write_app(tmp_path) / "pyproject.toml").read_text())
    declared = project["tool"]["flwr"]["app"]["config"]
    assert all(key in declared for key in defaults() if "." not in key)
    assert project["tool"]["flwr"]["app"]["components"]["clientapp"] == "fedloom_app:client"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fedloom_app.py", "pyproject.toml"]
