"""`fedloom deploy renew`, and what starting a server or a client says of certificates that are about to expire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deploy.upkeep import certificates
from fedloom.cli.main import main
from tests.fedloom.cli.deploy.replaced import Replaced, fails

CLIENT = ["client", "--keys", "federation/clients/site-a", "--server", "127.0.0.1:9", "--data", "npz:a.npz"]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let so many days pass."""

    def pass_days(days: float) -> None:
        monkeypatch.setattr(certificates, "now", lambda: datetime.now(UTC) + timedelta(days=days))

    return pass_days


def test_a_server_warns_and_after_its_renewal_does_not(
    started: list[Any], later: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    later(2 * 365 - 10)
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s"])
    assert "Warning: The server's certificate expires in" in capsys.readouterr().err
    assert main(["deploy", "renew", "../federation"]) == 0  # the server has gone into its folder
    told = capsys.readouterr().out
    assert "../federation/server/server.crt" in told and "all keys are as they were" in told
    with pytest.raises(Replaced):
        main(["deploy", "server", "--folder", "s", "--keys", "../federation"])
    assert "Warning" not in capsys.readouterr().err


def test_a_server_does_not_start_with_an_expired_certificate(
    started: list[Any], later: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    later(2 * 365 + 1)
    told = fails(capsys, "server", "--folder", "s")
    assert "expired on" in told and "fedloom deploy renew" in told
    assert not started


def test_a_client_warns_of_its_authority(
    started: list[Any],
    later: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    later(10 * 365 - 10)
    with pytest.raises(Replaced):
        main(["deploy", *CLIENT])
    assert "Warning: The authority's certificate expires in" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    later(10 * 365 + 1)
    assert "`fedloom deploy renew --authority`" in fails(capsys, *CLIENT)


def test_the_authority_is_renewed_in_every_folder(started: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in Path("federation").rglob("ca.crt")}
    assert main(["deploy", "renew", "--authority"]) == 0
    assert all(path.read_bytes() != content for path, content in before.items())
    assert len({path.read_bytes() for path in before}) == 1
    assert "Copy ca.crt to every host" in capsys.readouterr().out
    assert "no ca.key" in fails(capsys, "renew", "federation/server")
