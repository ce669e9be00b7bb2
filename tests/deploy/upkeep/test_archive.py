"""Backups: made while a run goes on and the database is written, and good enough to go on from elsewhere to the same bits."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import client_app
from deploy.keys import make_keys
from deploy.upkeep import DATABASE
from deploy.upkeep.archive import MANIFEST, back_up, copy_run, restore
from fl_config.errors import ConfigError
from fl_config.options import as_flat
from fl_runs.checkpoints import open_checkpoint, whole_lines
from fl_runs.plan import make_plan
from fl_strategies.round.records import Observer, Record
from server_app import open_server
from simulation.engines.inline import InlineGrid
from tests.deploy.federation import SITES, private_data

ROUNDS = 6


class AtRound(Observer):
    """Calls somebody after a round, while the run waits; after that the run ends where it asks to."""

    def __init__(self, round: int, act: Any) -> None:
        self.round, self.act = round, act

    def recorded(self, record: Record) -> bool | None:
        return self.act() if record["round"] == self.round else None


def run(folder: Path, clients: str, observers: Any = (), **more: Any) -> None:
    """Rounds of a method that keeps state on both sides; `clients` is the folder of what the sites remember."""
    plan = make_plan(
        {
            "partition": "private", "model": "mlp:4", "clients": 3, "rounds": ROUNDS, "strategy": "feddyn", "device": "cpu",
            "dataset": f"npz:{folder / 'server.npz'}", **more,
        }
    )  # fmt: skip
    grid = InlineGrid(client_app.app, len(SITES), as_flat(plan.config))
    for node, site in zip(grid.get_node_ids(), SITES, strict=True):
        grid.context(node).node_config = {
            "name": site,
            "data": f"npz:{folder / site}.npz",
            "state": str(folder / clients),
        }
    open_server(plan, observers).run(grid)


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A server's folder whose database is in the middle of its work."""
    private_data(tmp_path)
    folder = tmp_path / "server"
    (folder / "flower").mkdir(parents=True)
    (folder / "flower" / "cache").write_text("x")
    (folder / "server.log").write_text("x")
    with closing(sqlite3.connect(folder / DATABASE)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE node (number INTEGER, twice INTEGER)")
        made.commit()
    return folder


def test_a_backup_of_a_running_run_goes_on_elsewhere_to_the_same_bits(tmp_path: Path, server: Path) -> None:
    run(tmp_path, "undisturbed", out=str(tmp_path / "reference"))
    file, elsewhere = tmp_path / "backups" / "b.tar.gz", tmp_path / "elsewhere"

    def backed_up() -> bool:
        assert back_up(server, file).runs == ["runs/first"]
        return True  # and the host is lost

    run(tmp_path, "sites", [AtRound(3, backed_up)], out=str(server / "runs" / "first"))
    assert file.stat().st_mode & 0o777 == 0o600
    restore(file, elsewhere)
    assert not (elsewhere / "runs" / "first" / "summary.json").exists()
    run(tmp_path, "sites", resume=str(elsewhere / "runs" / "first"))
    model = (tmp_path / "reference" / "model.safetensors").read_bytes()
    assert (elsewhere / "runs" / "first" / "model.safetensors").read_bytes() == model
    lines = (elsewhere / "runs" / "first" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines] == list(range(ROUNDS + 1))
    left = {path.name for path in elsewhere.iterdir()}
    assert left == {DATABASE, "runs"}, "the log, Flower's files or drafts were taken along, or something is missing"


def test_backups_at_any_moment_of_a_run_can_be_resumed(tmp_path: Path, server: Path) -> None:
    """Many, one after the other, while the run writes checkpoints and lines as fast as it can."""
    writer = threading.Thread(target=run, args=(tmp_path, "sites"), kwargs={"out": str(server / "first"), "rounds": 40})
    writer.start()
    taken = 0
    while writer.is_alive():
        if (server / "first" / "config.toml").exists():
            copy_run(server / "first", tmp_path / f"copy-{taken}")
            taken += 1
        time.sleep(0.01)
    writer.join()
    checked = 0
    for number in range(taken):
        copied = tmp_path / f"copy-{number}"
        last = max((record["round"] for record in whole_lines(copied / "metrics.jsonl")), default=-1)
        state = open_checkpoint(copied / "checkpoint", copied / "metrics.jsonl")
        assert state is None or state.round <= last, "a resume would leave out a line"
        checked += state is not None
    assert checked > 1, f"of {taken} copies, {checked} fell into the run"


def test_the_database_is_one_moment_of_it(tmp_path: Path, server: Path) -> None:
    """Two rows that are always written together are both there or both not."""
    begun, over = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(server / DATABASE, timeout=60)) as opened:
            for number in range(100_000):
                if over.is_set():
                    return
                opened.execute("INSERT INTO node VALUES (?, 1)", (number,))
                opened.execute("INSERT INTO node VALUES (?, 2)", (number,))
                opened.commit()
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(60), "nothing was written"  # on a busy machine all backups may be over before the first row
        for number in range(3):
            back_up(server, tmp_path / f"{number}.tar.gz")
    finally:
        over.set()
        writer.join()
    restore(tmp_path / "2.tar.gz", tmp_path / "restored")
    with closing(sqlite3.connect(tmp_path / "restored" / DATABASE)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        single, rows = (
            opened.execute(
                "SELECT count(*) FROM (SELECT number FROM node GROUP BY number HAVING count(*) = 1)"
            ).fetchone()[0],
            opened.execute("SELECT count(*) FROM node").fetchone()[0],
        )
    assert single == 0 and rows > 0


def test_keys_are_inside_only_if_asked_for(tmp_path: Path, server: Path) -> None:
    make_keys(tmp_path / "federation", ["h"], ["site-a"])
    keys = tmp_path / "federation" / "server"
    secret = (keys / "server.key").read_bytes()
    assert not back_up(server, tmp_path / "without.tar.gz").keys
    assert back_up(server, tmp_path / "with.tar.gz", keys).keys
    for name, there in (("without", False), ("with", True)):
        restore(tmp_path / f"{name}.tar.gz", tmp_path / name)
        found = [path for path in (tmp_path / name).rglob("*") if path.is_file() and secret in path.read_bytes()]
        assert [path.name for path in found] == (["server.key"] if there else [])


def test_nothing_is_overwritten_and_strange_files_are_refused(tmp_path: Path, server: Path) -> None:
    file = tmp_path / "b.tar.gz"
    back_up(server, file)
    with pytest.raises(ConfigError, match="exists already"):
        back_up(server, file)
    with pytest.raises(ConfigError, match="not empty"):
        restore(file, server)
    with pytest.raises(ConfigError, match="no server's folder"):
        back_up(tmp_path, tmp_path / "c.tar.gz")
    with pytest.raises(ConfigError, match="There is no file"):
        restore(tmp_path / "none.tar.gz", tmp_path / "new")
    (tmp_path / "odd").write_text("odd")
    with pytest.raises(ConfigError, match="no backup"):
        restore(tmp_path / "odd", tmp_path / "new")
    (tmp_path / "cut.tar.gz").write_bytes(file.read_bytes()[:-200])
    with pytest.raises(ConfigError, match="damaged|no backup"):
        restore(tmp_path / "cut.tar.gz", tmp_path / "new")
    assert not (tmp_path / "new").exists() or not any((tmp_path / "new").iterdir())
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".backup", ".restore"))]


def test_a_backup_cannot_write_outside_of_its_folder(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as archive:
        manifest = json.dumps({"format": 1, "made": "", "fedloom": "", "runs": [], "keys": False}).encode()
        for name, content in ((MANIFEST, manifest), ("../outside", b"x")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with pytest.raises(ConfigError, match="cannot be unpacked"):
        restore(tmp_path / "evil.tar.gz", tmp_path / "in" / "new")
    assert not (tmp_path / "in" / "outside").exists() and not (tmp_path / "outside").exists()
