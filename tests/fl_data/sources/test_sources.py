"""Original hosts without a network: given up soon where closed, asked by address and checksum where open."""

from __future__ import annotations

import socket
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fl_data import DataError, sources
from fl_data.catalog import Source
from tests.fl_data.sources.toy_source import ENTRY, reader, scratch


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
