"""The connection that Flower's commands use."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from deploy.connection import Connection


def test_a_connection_touches_no_configuration_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path / "own"))
    with Connection("h:1", tmp_path / "ca.crt").opened() as variables:
        home = Path(variables["FLWR_HOME"])
        table = tomllib.loads((home / "config.toml").read_text())["superlink"]["fedloom"]
        assert table == {"address": "h:1", "root-certificates": str((tmp_path / "ca.crt").resolve())}
    assert not home.exists() and not (tmp_path / "own").exists()
    with Connection("h:1", None).opened() as variables:
        assert "insecure = true" in (Path(variables["FLWR_HOME"]) / "config.toml").read_text()
