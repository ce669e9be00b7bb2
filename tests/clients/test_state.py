"""A client's memory: only what the server used counts, also after a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flwr.app import RecordDict

from clients.state import FolderMemory, Memory, RecordMemory, entries_of


@pytest.fixture(params=["records", "folder"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    return RecordMemory(RecordDict()) if request.param == "records" else FolderMemory(tmp_path, "site/../a")


def test_an_unused_round_is_forgotten_and_a_used_one_is_kept(memory: Memory) -> None:
    h = np.arange(4, dtype=np.float32)
    assert memory.load(0) == {}
    memory.save(1, {"h": h})
    memory.save(2, {"h": h * 2})
    memory.keep({1})
    assert memory.load(2) == {}
    assert np.array_equal(memory.load(1)["h"], h)
    memory.save(3, {"h": h * 3})
    memory.keep({3, 1})
    assert np.array_equal(memory.load(3)["h"], h * 3)
    memory.keep({3})
    assert memory.load(1) == {}


def test_bits_survive(memory: Memory) -> None:
    odd = np.array([np.nextafter(np.float32(1), np.float32(2)), -0.0, 1e-42, 3e38], dtype=np.float32)
    memory.save(1, {"h": odd})
    assert memory.load(1)["h"].tobytes() == odd.tobytes()


def test_a_folder_outlives_the_process_and_names_stay_inside_it(tmp_path: Path) -> None:
    FolderMemory(tmp_path / "state", "../../evil").save(1, {"h": np.ones(2, dtype=np.float32)})
    assert np.array_equal(FolderMemory(tmp_path / "state", "../../evil").load(1)["h"], np.ones(2))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert not list((tmp_path / "state").glob("**/*draft*"))


def test_what_is_put_aside_is_one_text_that_no_round_forgets(memory: Memory) -> None:
    assert memory.aside() == b""
    memory.put_aside(b"first")
    memory.save(1, {"h": np.ones(2, dtype=np.float32)})
    memory.put_aside(b"second")
    memory.keep(())
    assert memory.aside() == b"second" and memory.load(1) == {}
    memory.put_aside(b"")
    memory.put_aside(b"")
    assert memory.aside() == b""


def test_a_file_that_was_put_aside_is_its_owners_only(tmp_path: Path) -> None:
    FolderMemory(tmp_path, "site/a").put_aside(b"secret")
    (file,) = tmp_path.iterdir()
    assert file.name == entries_of("site/a")[2] and file.stat().st_mode & 0o777 == 0o600
    assert FolderMemory(tmp_path, "site/a").aside() == b"secret" and FolderMemory(tmp_path, "site/b").aside() == b""
    FolderMemory(tmp_path, "site/a").put_aside(b"")
    assert not list(tmp_path.iterdir())
