"""The cache: verified, atomic, safe for several processes, and errors that say what to do."""

from __future__ import annotations

import errno
import json
import logging
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fl_data import DataError, available, fetch, load, store
from fl_data.catalog import CATALOG, Entry, Source
from fl_data.dataset import Decoded
from tests.fl_data.store.toy_data import decoded


def test_fetched_once_then_memory_mapped(toy: Entry, tmp_path: Path) -> None:
    data = load("toy", tmp_path)
    assert isinstance(data.x_train, np.memmap)
    assert not data.x_train.flags.writeable
    assert np.array_equal(data.x_train, decoded().x_train)
    assert (data.class_names, data.num_classes, data.shape) == (("no", "yes"), 2, (1, 2, 2))
    pixels = decoded().x_train / 255
    assert data.mean == pytest.approx((pixels.mean(),))
    assert data.std == pytest.approx((pixels.std(),))
    assert load("toy", tmp_path) is data
    row = next(row for row in available(tmp_path) if row["name"] == "toy")
    assert row["present"]
    assert row["size"] == "4 + 2, 1x2x2"
    assert sorted(item.name for item in (tmp_path / "arrays").iterdir()) == ["toy", "toy.lock"]


def test_the_next_source_is_tried_and_all_are_listed(
    toy: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = Source("files", "elsewhere", ("absent",), toy.sources[0].read)
    monkeypatch.setitem(CATALOG, "toy", replace(toy, sources=(nowhere, replace(toy.sources[0], caution="Beware."))))
    with caplog.at_level(logging.INFO, logger="fedloom"):
        fetch("toy", tmp_path)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("toy from files elsewhere: no folder absent")
    assert said[1:] == ["toy from files: 4 + 2 samples.", "toy: Beware."]
    monkeypatch.setitem(CATALOG, "toy", replace(toy, sources=(nowhere, replace(nowhere, target="again"))))
    with pytest.raises(DataError, match=r"Tried files elsewhere: .* \| files again: .* By hand: put its files in"):
        fetch("toy", tmp_path / "other")


def test_a_raw_folder_of_the_users_comes_first(toy: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine" / "toy-raw").mkdir(parents=True)
    (tmp_path / "mine" / "toy-raw" / "seed").write_text("1")
    monkeypatch.setenv("FEDLOOM_RAW", str(tmp_path / "mine"))
    with pytest.raises(DataError, match="checksum"):
        fetch("toy", tmp_path)


def test_damage_is_found_and_repaired(toy: Entry, tmp_path: Path) -> None:
    folder = fetch("toy", tmp_path)
    array = np.load(folder / "x_train.npy")
    np.save(folder / "x_train.npy", array ^ 1)
    fetch("toy", tmp_path)
    assert np.array_equal(np.load(folder / "x_train.npy"), array)
    (folder / "y_test.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"damaged .*fedloom data fetch toy"):
        load("toy", tmp_path)
    fetch("toy", tmp_path)
    assert len(load("toy", tmp_path).y_test) == 2


def test_absent_and_not_to_be_fetched(toy: Entry, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run `fedloom data fetch toy` first"):
        load("toy", tmp_path, fetch=False)


def test_several_processes_at_once(toy: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(folder: Path) -> Decoded:
        with (tmp_path / "reads").open("a") as reads:
            reads.write("x")
        time.sleep(0.2)
        return decoded()

    monkeypatch.setitem(CATALOG, "toy", replace(toy, sources=(replace(toy.sources[0], read=slow),)))
    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=load, args=("toy", tmp_path)) for _ in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0] * 4
    assert (tmp_path / "reads").read_text() == "x"
    assert sorted(item.name for item in (tmp_path / "arrays").iterdir()) == ["toy", "toy.lock"]


def test_a_cache_folder_that_cannot_be_written(toy: Entry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be used"):
        fetch("toy", tmp_path / "file")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FEDLOOM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert store.cache_folder() == tmp_path / "xdg" / "fedloom"
    monkeypatch.setenv("FEDLOOM_DATA", str(tmp_path / "given"))
    assert store.cache_folder() == tmp_path / "given"
    assert store.cache_folder(tmp_path) == tmp_path


def test_femnist_writers_become_a_partition_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: Entry) -> None:
    with_writers = replace(decoded(), writers=[[0, 2], [1, 3]])
    monkeypatch.setitem(CATALOG, "toy", replace(toy, sources=(replace(toy.sources[0], read=lambda _: with_writers),)))
    folder = fetch("toy", tmp_path)
    assert json.loads((folder / "writers.json").read_text()) == [[0, 2], [1, 3]]


def test_what_the_system_refuses_is_no_damage(toy: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that cannot be opened just now is neither called damaged nor fetched again over itself."""
    folder = fetch("toy", tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("numpy.load", refuse)
    with pytest.raises(DataError, match=r"cannot be used .*Too many open files"):
        fetch("toy", tmp_path)
    with pytest.raises(OSError, match="Too many open files"):
        load("toy", tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
