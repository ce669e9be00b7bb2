"""A client's files travel to a node and back: its own only, what has changed only, and from the driver's whenever in doubt."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from clients.state import FolderMemory, entries_of
from simulation.engines.cluster import travelling
from simulation.engines.cluster.travelling import AwayFolder, HomeFolder, LostLuggage, Luggage, Souvenirs
from simulation.engines.transport.wire import Task

HERE, THERE, ELSEWHERE = "here", "there", "elsewhere"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HomeFolder:
    """The folder of a driver on the node `HERE`; workers keep their files under `temporary`."""
    monkeypatch.setattr(travelling.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    return HomeFolder(tmp_path / "state", lambda number: list(entries_of(number)), lambda node: node != HERE)


def task(client: int, message: str) -> Task:
    return Task(message, client + 2, client, "train", "1", {}, {})


def train(home: HomeFolder, client: int, round: int, node: str) -> Task:
    """A round of one client as a worker on that node runs it: it keeps the memory of the round before, and adds its own."""
    dealt: Task = home.pack(task(client, f"message-{round}"), node)
    away = AwayFolder("run", node)
    folder = home.folder
    if dealt.luggage:
        away.arrive(client, dealt.luggage)
        folder = away.own
    memory = FolderMemory(folder, client)
    memory.keep({round - 1})
    before = float(memory.load(round - 1)["h"][0]) if round > 1 else 0.0
    memory.save(round, {"h": np.array([before * 10 + round], dtype=np.float32)})
    if dealt.luggage:
        assert home.unpack(client, dealt.message_id, away.leave(client, dealt.message_id))
    return dealt


def names(home: HomeFolder) -> list[str]:
    return sorted(travelling.files_in(home.folder))


def test_where_the_folder_is_seen_nothing_travels(home: HomeFolder) -> None:
    assert train(home, 5, 1, HERE).luggage is None
    assert names(home) == ["5/1.safetensors"]


def test_a_client_carries_its_own_files_and_brings_back_what_changed(home: HomeFolder) -> None:
    for client in (5, 50):
        train(home, client, 1, HERE)
    (home.folder / "contexts").mkdir()
    for name in ("contexts/5.state", "contexts/50.state", "5.secret", "5/1.draft-77"):
        (home.folder / name).write_bytes(b"of mine")
    (home.folder / "5.secret").chmod(0o600)
    dealt = home.pack(task(5, "second"), THERE)
    assert sorted(dealt.luggage.files) == ["5.secret", "5/1.safetensors", "contexts/5.state"]
    away = AwayFolder("run", THERE)
    away.arrive(5, dealt.luggage)
    assert stat.S_IMODE((away.own / "5.secret").stat().st_mode) == 0o600
    memory = FolderMemory(away.own, 5)
    memory.keep(())
    memory.save(2, {"h": np.ones(3, dtype=np.float32)})
    (away.own / "contexts" / "5.state").write_bytes(b"of MINE")  # as long as before, and perhaps within the same tick
    brought = away.leave(5, "second")
    assert sorted(brought.files) == ["5/2.safetensors", "contexts/5.state"]
    assert brought.removed == ["5/1.safetensors"]
    assert home.unpack(5, "second", brought)
    assert names(home) == ["5.secret", "5/2.safetensors", "50/1.safetensors", "contexts/5.state", "contexts/50.state"]
    assert (home.folder / "contexts" / "5.state").read_bytes() == b"of MINE"


def test_rounds_on_changing_nodes_add_up_and_what_a_node_has_is_not_sent_again(home: HomeFolder) -> None:
    sent = [train(home, 5, round, node).luggage for round, node in enumerate([THERE, THERE, ELSEWHERE, HERE, THERE], 1)]
    files = [None if luggage is None else sorted(luggage.files) for luggage in sent]
    assert files == [[], [], ["5/1.safetensors", "5/2.safetensors"], None, ["5/3.safetensors", "5/4.safetensors"]]
    assert sent[1] is not None and sent[1].kept == ["5/1.safetensors"]
    assert FolderMemory(home.folder, 5).load(5)["h"].tolist() == [12345.0]


def test_a_task_that_never_came_back_begins_again_from_the_drivers_files(home: HomeFolder) -> None:
    train(home, 5, 1, THERE)
    lost = home.pack(task(5, "message-2"), THERE)
    assert lost.luggage.kept == ["5/1.safetensors"]
    away = AwayFolder("run", THERE)
    away.arrive(5, lost.luggage)
    FolderMemory(away.own, 5).keep(())
    del away  # its worker dies
    again = train(home, 5, 2, THERE)
    assert again.luggage is not None and sorted(again.luggage.files) == ["5/1.safetensors"]
    assert FolderMemory(home.folder, 5).load(2)["h"].tolist() == [12.0]


def test_a_node_that_lost_what_it_kept_says_so_and_is_sent_everything(home: HomeFolder, tmp_path: Path) -> None:
    train(home, 5, 1, THERE)
    dealt = home.pack(task(5, "message-2"), THERE)
    next((tmp_path / "temporary").rglob("1.safetensors")).unlink()
    with pytest.raises(LostLuggage, match="no longer on its node"):
        AwayFolder("run", THERE).arrive(5, dealt.luggage)
    assert not home.unpack(5, "message-2", Souvenirs(THERE, lost=True))
    train(home, 5, 2, THERE)
    assert FolderMemory(home.folder, 5).load(2)["h"].tolist() == [12.0]


def test_what_a_killed_run_left_is_swept_away_by_a_later_one(home: HomeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(travelling, "ABANDONED", -1.0)
    train(home, 5, 1, THERE)
    living = AwayFolder("living", THERE)
    living.arrive(5, Luggage({}))
    AwayFolder("later", THERE).arrive(5, Luggage({}))
    left = sorted(path.name for path in living.own.parents[1].iterdir())
    assert left == ["fedloom-away-later-there", "fedloom-away-living-there"]  # that of `train` is nobody's any more


def test_a_node_keeps_one_state_per_client(home: HomeFolder, tmp_path: Path) -> None:
    for round in range(1, 5):
        train(home, 5, round, THERE)
    kept = sorted(path.name for path in (tmp_path / "temporary").rglob("*.safetensors"))
    assert kept == ["3.safetensors", "4.safetensors"]
