"""What `keep` keeps: every round that it is given, of its own client, and nothing that a kill left half-written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, RecordDict

from clients.state import FolderMemory, Memory, RecordMemory


def vector(value: float) -> np.ndarray:
    return np.full(3, value, dtype=np.float32)


@pytest.fixture(params=["records", "folder"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    return RecordMemory(RecordDict()) if request.param == "records" else FolderMemory(tmp_path, 1)


@pytest.mark.parametrize("kept", [{1}, {3}, {1, 3}, {0, 2}, {1, 2, 3}, set()])
def test_every_named_round_is_kept_and_no_other(memory: Memory, kept: set[int]) -> None:
    """The round of the last checkpoint beside the last acknowledged one: a resume needs the older of the two."""
    for round in (1, 2, 3):
        memory.save(round, {"h": vector(round)})
    memory.keep(kept)
    for round in (1, 2, 3):
        assert (memory.load(round) != {}) == (round in kept)
        if round in kept:
            assert np.array_equal(memory.load(round)["h"], vector(round))


def test_the_last_of_two_saves_counts_and_nothing_is_filed_as_nothing(memory: Memory) -> None:
    memory.save(1, {"h": vector(1), "s": vector(2)})
    memory.save(1, {"h": vector(4)})
    assert memory.load(1).keys() == {"h"}
    assert np.array_equal(memory.load(1)["h"], vector(4))
    memory.save(2, {})
    assert memory.load(2) == {}
    assert np.array_equal(memory.load(1)["h"], vector(4))


def test_clients_do_not_touch_each_others_folders(tmp_path: Path) -> None:
    one, eleven = FolderMemory(tmp_path, 1), FolderMemory(tmp_path, 11)
    one.save(1, {"h": vector(1)})
    eleven.save(1, {"h": vector(11)})
    one.keep([])
    assert one.load(1) == {}
    assert np.array_equal(eleven.load(1)["h"], vector(11))


def test_what_a_kill_left_half_written_is_never_read_and_goes(tmp_path: Path) -> None:
    memory = FolderMemory(tmp_path, 1)
    memory.save(1, {"h": vector(1)})
    draft = next(tmp_path.rglob("1.safetensors")).with_name("2.draft-99999")
    draft.write_bytes(b"half a file")
    assert memory.load(2) == {}
    memory.keep({1})
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["1.safetensors"]


def test_other_records_of_a_flower_context_stay() -> None:
    records = RecordDict({"theirs": ConfigRecord({"x": 1})})
    memory = RecordMemory(records)
    memory.save(1, {"h": vector(1)})
    memory.keep([])
    assert set(records) == {"theirs"}


def test_arrays_that_are_not_contiguous_are_filed_by_value(memory: Memory) -> None:
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    memory.save(1, {"h": turned})
    assert np.array_equal(memory.load(1)["h"], turned)
