"""A data set that comes from a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_data import store
from fl_data.catalog import CATALOG, Entry, Expected, Source
from tests.fl_data.store.toy_data import decoded


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Entry:
    """A dataset `toy` that comes from a folder `toy-raw`."""
    sha = store.fingerprint(decoded().arrays())
    source = Source("files", "", ("toy-raw",), lambda folder: decoded(int((folder / "seed").read_text())))
    entry = Entry("toy", "image", (1, 2, 2), 2, Expected(4, 2, sha, balanced=True), (source,))
    monkeypatch.setitem(CATALOG, "toy", entry)
    monkeypatch.setattr(store, "_opened", type(store._opened)())
    monkeypatch.delenv("FEDLOOM_RAW", raising=False)
    (tmp_path / "raw" / "toy-raw").mkdir(parents=True)
    (tmp_path / "raw" / "toy-raw" / "seed").write_text("0")
    return entry
