"""`fedloom deploy server` and `client`: secure unless asked otherwise, and the right words for Flower."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.upkeep import logfile
from fedloom.cli.deploy import hosts
from fedloom.cli.deploy.hosts import node_config
from fedloom.cli.main import main
from fl_config.errors import ConfigError
from tests.fedloom.cli.deploy.replaced import Replaced, fails


def test_a_server_is_encrypted_and_authenticated_by_default(
    started: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s"])
    words, variables = started[0]
    assert words[1:3] == ["-m", "deploy.superlink"] and "--enable-supernode-auth" in words and "--insecure" not in words
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
    assert "--port" not in words, "two clients of one host would want the same"
    assert words[words.index("--heartbeat") + 1] == "5"
    assert words[words.index("--auth-supernode-private-key") + 1].endswith("clients/site-b/site-b.key")
    assert words[words.index("--root-certificates") + 1].endswith("clients/site-b/ca.crt")
    given = words[words.index("--node-config") + 1]
    assert given == f"name='site-b' data='npz:{tmp_path}/a.npz' state='{tmp_path}/client/state' plugins=''"


def test_a_path_that_flower_cannot_be_given_is_a_sentence(tmp_path: Path) -> None:
    odd = tmp_path / "it's"
    odd.mkdir()
    np.savez(odd / "a.npz", x_train=np.zeros((1, 1)))
    with pytest.raises(ConfigError, match="quotation mark"):
        node_config("site-a", f"npz:{odd / 'a.npz'}", None, tmp_path)
    with pytest.raises(ConfigError, match="name"):
        node_config("a b", f"npz:{odd / 'a.npz'}", None, tmp_path)
    assert node_config(None, None, "3", tmp_path) == "partition-id=3 plugins=''"
    assert node_config("site-a", None, "3", tmp_path) == "name='site-a' partition-id=3 plugins=''"


def test_each_keeps_a_log_that_speaks_of_sites_by_name(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept: list[tuple[Path, dict[str, Any]]] = []
    monkeypatch.setattr(logfile, "keep_log", lambda file, **names: kept.append((file, names)))
    for words in (
        ["server", "--folder", "s"],
        ["client", "--keys", f"{tmp_path}/federation/clients/site-b", "--server", "h:1", "--partition-id", "0"],
    ):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(Replaced):
            main(["deploy", *words])
    passing = [names.pop("passing") for _, names in kept]
    assert passing == [Path(variables["TMPDIR"]) for _, variables in started] and passing[0] != passing[1]
    assert all(place.is_dir() and place.stat().st_mode & 0o777 == 0o700 for place in passing)
    assert kept == [
        (tmp_path / "s" / "server.log", {"name": "", "database": tmp_path / "s" / "federation.db"}),
        (tmp_path / "client" / "client.log", {"name": "site-b", "database": None}),
    ]


def test_a_place_that_is_too_long_for_sockets_is_not_taken(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ("long" * 20)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
    monkeypatch.setattr(hosts, "LONGEST_PLACE", 70)
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s"])
    place = Path(started[0][1]["TMPDIR"])
    place.rmdir()
    assert place.parent == Path("/tmp") and not list((tmp_path / ("long" * 20)).iterdir())
