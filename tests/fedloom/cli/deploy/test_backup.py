"""`fedloom deploy backup` and `restore`: what they say, and what they refuse."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.deploy.replaced import fails


@pytest.fixture
def folder(started: list[Any]) -> Path:
    run = Path("server/first")
    run.mkdir(parents=True)
    (run / "config.toml").write_text("rounds = 3\n")
    with closing(sqlite3.connect("server/federation.db")) as made:
        made.execute("CREATE TABLE node (number INTEGER)")
        made.commit()
    return Path("server")


def test_there_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["deploy", "backup", "b.tar.gz"]) == 0
    assert "holds 1 run and the registered sites. No key is in it." in capsys.readouterr().out
    assert main(["deploy", "restore", "b.tar.gz", "--folder", "new"]) == 0
    told = capsys.readouterr().out
    assert "`fedloom deploy server --keys KEYS --folder new`" in told and "submit --resume RUN`: first." in told
    assert Path("new/first/config.toml").read_text() == "rounds = 3\n"


def test_with_keys_they_are_told_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "backup", "b.tar.gz", "--with-keys"]) == 0
    assert "private key is in it: guard it" in capsys.readouterr().out
    assert main(["deploy", "restore", "b.tar.gz", "--folder", "new"]) == 0
    assert "--keys new/keys" in capsys.readouterr().out
    assert Path("new/keys/server.key").read_bytes() == Path("federation/server/server.key").read_bytes()


def test_mistakes_are_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no server's folder" in fails(capsys, "backup", "b.tar.gz", "--folder", "federation")
    assert "server.crt" in fails(capsys, "backup", "b.tar.gz", "--with-keys", "federation/authority")
    assert "There is no file" in fails(capsys, "restore", "none.tar.gz", "--folder", "new")
    assert not Path("b.tar.gz").exists()
