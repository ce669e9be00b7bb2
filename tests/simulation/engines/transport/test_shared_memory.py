"""Shared memory is handed out in ranges that nobody else has, comes back when nobody reads it, and says where it is full."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from simulation.engines.transport import shared_memory
from simulation.engines.transport.shared_memory import LINE, STEP, SharedMemory, attach, orphans, remove_orphans

LIMIT = 4 * STEP


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    opened = SharedMemory(LIMIT)
    yield opened
    opened.close()


def test_another_process_reads_and_writes_the_same_numbers(memory: SharedMemory) -> None:
    piece = memory.take(1000)
    assert piece is not None
    here = piece.array(piece.offset, "float32", (5,))
    here[...] = np.arange(5)
    code = f"""
from simulation.engines.transport.shared_memory import attach
there = attach({memory.path!r}).array({piece.offset}, "float32", (5,))
assert there.tolist() == [0, 1, 2, 3, 4]
there += 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert here.tolist() == [1, 2, 3, 4, 5]


def test_ranges_do_not_overlap_and_begin_on_a_line(memory: SharedMemory) -> None:
    taken = [memory.take(size) for size in (1, 64, 65, 1000, STEP, 7)]
    assert all(piece is not None and piece.offset % LINE == 0 for piece in taken)
    places = sorted((piece.offset, piece.offset + piece.size) for piece in taken if piece)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert [piece.size for piece in taken if piece] == [64, 64, 128, 1024, STEP, 64]


def test_a_range_comes_back_with_its_last_array(memory: SharedMemory) -> None:
    first = memory.take(1000)
    assert first is not None
    place = first.offset
    view = first.array(place, "float32", (100,))[10:20].reshape(2, 5)
    del first
    other = memory.take(1000)
    assert other is not None and other.offset != place, "somebody still reads it"
    del view
    again = memory.take(1000)
    assert again is not None and again.offset == place


def test_neighbours_that_came_back_are_one_range_again(memory: SharedMemory) -> None:
    pieces = [memory.take(STEP // 4) for _ in range(4)]
    for kept in (1, 3, 0, 2):
        pieces[kept] = None
    whole = memory.take(STEP)
    assert whole is not None and whole.offset == 0


def test_what_does_not_fit_is_refused_and_the_rest_goes_on(memory: SharedMemory) -> None:
    assert memory.take(LIMIT + 1) is None
    everything = memory.take(LIMIT)
    assert everything is not None and memory.take(1) is None
    del everything
    assert memory.take(LIMIT) is not None


def test_a_full_file_system_is_noticed_when_memory_is_taken(
    memory: SharedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert memory.take(100) is None


def test_a_machine_without_such_a_file_system_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path / "missing")
    assert SharedMemory.open() is None
    assert attach(str(tmp_path / "missing" / "fedloom-1-00")) is None
    assert attach("") is None


def test_a_closed_memory_leaves_no_file_and_its_arrays_readable(memory: SharedMemory) -> None:
    opened = SharedMemory(LIMIT)
    piece = opened.take(100)
    assert piece is not None
    array = piece.array(piece.offset, "uint8", (100,))
    array[...] = 7
    opened.close()
    assert not Path(opened.path).exists()
    assert array.sum() == 700


def test_files_of_drivers_that_were_killed_are_removed(
    memory: SharedMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    for name in (f"fedloom-{gone}-ab", f"fedloom-{os.getpid()}-cd", "somebody-elses", "fedloom-notes"):
        (tmp_path / name).touch()
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    assert [path.name for path in orphans()] == [f"fedloom-{gone}-ab"]
    remove_orphans()
    assert {path.name for path in tmp_path.iterdir()} == {
        f"fedloom-{os.getpid()}-cd",
        "somebody-elses",
        "fedloom-notes",
    }
