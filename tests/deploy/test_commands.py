"""`fedloom deploy` as a user meets it: secure unless asked otherwise, sentences for mistakes, the right words for Flower."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy.connection
from deploy.bundle import write_app
from fedloom.cli.deploy import node_config
from fedloom.cli.main import main
from fl_config.errors import ConfigError
from fl_config.options import FLAGS
from fl_runs.run_config import defaults


class Replaced(Exception):
    """Stands for the process that would have been replaced by Flower's."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Instead of becoming Flower's process, keep what it would have been started with."""
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []

    def execve(path: str, words: list[str], variables: dict[str, str]) -> None:
        calls.append((words, variables))
        raise Replaced

    monkeypatch.setattr(os, "execve", execve)
    assert main(["deploy", "init", "--server", "127.0.0.1", "--clients", "site-a,site-b"]) == 0
    x, y = np.zeros((4, 2), dtype=np.float32), np.arange(4) % 2
    np.savez("a.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    return calls


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    try:
        code = main(["deploy", *words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    told = capsys.readouterr().err.strip().splitlines()
    assert code == 2 and len(told) == 1, told
    return told[0]


def test_a_server_is_encrypted_and_authenticated_by_default(
    started: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s"])
    words, variables = started[0]
    assert words[0].endswith("flower-superlink") and "--enable-supernode-auth" in words and "--insecure" not in words
    assert words[words.index("--ssl-keyfile") + 1] == str(tmp_path / "federation" / "server" / "server.key")
    assert words[words.index("--host") + 1] == "127.0.0.1", "runs may be submitted from other hosts by default"
    assert "--disable-runtime-dependency-installation" in words
    assert variables["FLWR_TELEMETRY_ENABLED"] == "0"
    assert "Warning" not in capsys.readouterr().err


def test_insecure_must_be_asked_for_and_warns(started: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s", "--insecure"])
    assert "Warning: --insecure" in capsys.readouterr().err
    assert "--insecure" in started[0][0] and "--enable-supernode-auth" not in started[0][0]
    client = ["deploy", "client", "--server", "h:1", "--data", "npz:../a.npz", "--insecure"]
    assert "--name" in fails(capsys, *client[1:])
    with pytest.raises(Replaced):
        main([*client, "--name", "site-x"])
    assert "Warning: --insecure" in capsys.readouterr().err
    assert "--root-certificates" not in started[1][0]


def test_a_client_gets_its_key_its_name_and_its_data(started: list[Any], tmp_path: Path) -> None:
    with pytest.raises(Replaced):
        main(["deploy", "client", "--keys", "federation/clients/site-b", "--server", "fed:9092", "--data", "npz:a.npz"])
    words, _ = started[0]
    assert words[1:3] == ["-m", "deploy.supernode"] and "--insecure" not in words
    assert words[words.index("--auth-supernode-private-key") + 1].endswith("clients/site-b/site-b.key")
    assert words[words.index("--root-certificates") + 1].endswith("clients/site-b/ca.crt")
    given = words[words.index("--node-config") + 1]
    assert given == f"name='site-b' data='npz:{tmp_path}/a.npz' state='{tmp_path}/client/state'"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["server", "--keys", "nowhere"], "nowhere/ca.crt"),
        (["server", "--fleet", "9092"], "HOST:PORT"),
        (["server", "--control", "h:99999"], "HOST:PORT"),
        (["client", "--server", "h:1", "--data", "npz:none.npz"], "federation has 0 files"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h:1", "--data", "npz:none.npz"], "none.npz"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h", "--data", "npz:a.npz"], "HOST:PORT"),
        (["client", "--server", "h:1"], "--data"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h:1", "--partition-id", "x"], "whole number"),
        (["client", "--server", "h:1", "--data", "npz:a.npz", "--port", "x"], "--port"),
        (["client", "--server", "h:1", "--data", "npz:a.npz", "--max-retries", "-1"], "max-retries"),
        (["register", "--keys", "nowhere"], "nowhere"),
        (["register", "none.pub"], "none.pub"),
        (["submit", "--strategy", "fedavgg"], "did you mean 'fedavg'"),
        (["submit", "--keys", "nowhere"], "ca.crt"),
        (["submit", "--over-sample", "-1"], "over-sample"),
        (["submit", "--max-update-norm", "-1"], "max-update-norm"),
        (["submit", "--set", "disco.a=1"], "does not use"),
        (["logs", "x"], "whole number"),
        (["stop", "-1"], ""),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_mistake_is_one_sentence(
    started: list[Any], capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert told in fails(capsys, *words)
    assert not started


def test_submit_hands_every_option_to_flower(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, Any] = {}

    def flwr(self: deploy.connection.Connection, *words: str) -> int:
        seen["words"], seen["connection"] = words, self
        seen["config"] = tomllib.loads(Path(words[words.index("--run-config") + 1]).read_text())
        seen["app"] = tomllib.loads((Path(words[1]) / "pyproject.toml").read_text())
        seen["wiring"] = (Path(words[1]) / "fedloom_app.py").read_text()
        return 0

    monkeypatch.setattr(deploy.connection.Connection, "flwr", flwr)
    strange = 'npz:/data/a "quoted" name\\x.npz'
    words = ["--strategy", "feddyn+disco", "--set", "disco.a=0.4", "--lr", "0.3", "--dataset", strange]
    assert main(["deploy", "submit", *words, "--partition", "private", "--out", "here", "--stream"]) == 0
    config = seen["config"]
    assert config["dataset"] == strange and config["disco"] == {"a": 0.4} and config["lr"] == 0.3
    assert FLAGS.keys() <= config.keys()
    known = seen["app"]["tool"]["flwr"]["app"]["config"]
    assert config.keys() <= known.keys(), "flwr refuses a key that the app does not declare"
    assert seen["words"][2] == "fedloom" and "--stream" in seen["words"]
    assert seen["connection"].authority is not None
    assert "here" in capsys.readouterr().out


def test_the_app_declares_every_option_and_imports_the_installed_package(tmp_path: Path) -> None:
    project = tomllib.loads((write_app(tmp_path) / "pyproject.toml").read_text())
    declared = project["tool"]["flwr"]["app"]["config"]
    assert all(key in declared for key in defaults() if "." not in key)
    assert project["tool"]["flwr"]["app"]["components"]["clientapp"] == "fedloom_app:client"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fedloom_app.py", "pyproject.toml"]


def test_a_connection_touches_no_configuration_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path / "own"))
    with deploy.connection.Connection("h:1", tmp_path / "ca.crt").opened() as variables:
        home = Path(variables["FLWR_HOME"])
        table = tomllib.loads((home / "config.toml").read_text())["superlink"]["fedloom"]
        assert table == {"address": "h:1", "root-certificates": str((tmp_path / "ca.crt").resolve())}
    assert not home.exists() and not (tmp_path / "own").exists()
    with deploy.connection.Connection("h:1", None).opened() as variables:
        assert "insecure = true" in (Path(variables["FLWR_HOME"]) / "config.toml").read_text()


def test_a_path_that_flower_cannot_be_given_is_a_sentence(tmp_path: Path) -> None:
    odd = tmp_path / "it's"
    odd.mkdir()
    np.savez(odd / "a.npz", x_train=np.zeros((1, 1)))
    with pytest.raises(ConfigError, match="quotation mark"):
        node_config("site-a", f"npz:{odd / 'a.npz'}", None, tmp_path)
    with pytest.raises(ConfigError, match="name"):
        node_config("a b", f"npz:{odd / 'a.npz'}", None, tmp_path)
    assert node_config(None, None, "3", tmp_path) == "partition-id=3"
