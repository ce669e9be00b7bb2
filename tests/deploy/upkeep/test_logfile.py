"""Log files of a server and its clients: small for ever, with times and names, and nobody waits for them."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.upkeep.logfile import LogFile, NodeNames, pass_on

NODE = 14097379605319252431  # above 2^63, which the database keeps as a negative number


def clock() -> str:
    return "now"


def test_files_are_set_aside_when_they_are_full_and_only_a_few_are_kept(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "server.log", largest=100, kept=2)
    for number in range(50):
        log.write(f"line {number:03}\n".encode())
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["server.log", "server.log.1", "server.log.2"]
    assert all(file.stat().st_size <= 100 for file in files)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    lines = b"".join(file.read_bytes() for file in reversed(files)).decode().splitlines()
    assert lines == [f"line {number:03}" for number in range(50 - len(lines), 50)], "lines were lost or out of order"


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for word in (b"one\n", b"two\n"):
        LogFile(tmp_path / "a.log").write(word)
    assert (tmp_path / "a.log").read_bytes() == b"one\ntwo\n"


def test_a_server_calls_nodes_by_the_names_in_its_database(tmp_path: Path) -> None:
    database = tmp_path / "federation.db"
    names = NodeNames(database=database)
    assert names.put_into(b"node_id=5 and 123\n") == b"node_id=5 and 123\n", "there is no database yet"
    with sqlite3.connect(database) as made:
        made.execute("CREATE TABLE node (node_id INTEGER, name TEXT)")
        made.execute("INSERT INTO node VALUES (?, ?), (?, ?)", (NODE - (1 << 64), "site-a", 123456789012345678, None))
    line = f"[Fleet.ActivateNode] Activated node_id={NODE} run 123456789012345678, 10487608854767019357\n"
    assert names.put_into(line.encode()).decode() == line.replace(str(NODE), "site-a")
    assert names.put_into(f"sha {NODE}1 a{NODE}\n".encode()).decode() == f"sha {NODE}1 asite-a\n"


def test_a_client_calls_itself_by_its_name() -> None:
    names = NodeNames(name="site-a")
    assert names.put_into(f"node {NODE}\n".encode()) == f"node {NODE}\n".encode()
    assert names.put_into(f"SuperNode ID: {NODE}\n".encode()) == b"SuperNode ID: site-a\n"
    assert names.put_into(f"node {NODE} run {NODE - 1}\n".encode()) == f"node site-a run {NODE - 1}\n".encode()


def test_the_file_has_times_and_no_colours_and_the_terminal_has_everything(tmp_path: Path) -> None:
    lines = [b"\x1b[92mINFO \x1b[0m:      Started\n", b"\x1b[92mINFO \x1b[0m:      \n", b"half a line"]
    heard = io.BytesIO()
    pass_on(lines, LogFile(tmp_path / "a.log"), NodeNames(), heard, clock)
    assert heard.getvalue() == b"".join(lines)
    assert (tmp_path / "a.log").read_bytes() == b"now INFO :      Started\nnow half a line"


def test_who_cannot_be_heard_or_written_does_not_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.BytesIO):
        def write(self, data: object) -> int:
            raise BrokenPipeError

    log = LogFile(tmp_path / "a.log", largest=20)
    pass_on([b"one\n", b"two\n"], log, NodeNames(), Closed(), clock)
    assert (tmp_path / "a.log").read_bytes() == b"now one\nnow two\n"
    log.file.close()
    log.file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115 (a disk that is full)
    pass_on([b"three\n"], log, NodeNames(), io.BytesIO(), clock)


def test_a_process_and_its_children_are_kept_until_the_last_has_ended(tmp_path: Path) -> None:
    (tmp_path / "passing").mkdir()
    (tmp_path / "passing" / "socket").write_text("of one that was killed")
    child = "import time; time.sleep(0.5); print('last words', flush=True)"
    parent = (
        "import os, subprocess, sys; from pathlib import Path; from deploy.upkeep.logfile import keep_log\n"
        f"keep_log(Path({str(tmp_path / 'client.log')!r}), name='site-a', passing=Path({str(tmp_path / 'passing')!r}))\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"print('SuperNode ID: {NODE}', flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, env=os.environ, check=False, timeout=120
    )
    assert done.returncode == -9
    assert done.stdout == b"SuperNode ID: site-a\nlast words\n"
    assert [line.split(" ", 1)[1] for line in (tmp_path / "client.log").read_text().splitlines()] == [
        "SuperNode ID: site-a",
        "last words",
    ]
    deadline = time.monotonic() + 60
    while (tmp_path / "passing").exists() and time.monotonic() < deadline:
        time.sleep(0.05)  # our end of its output was closed before
    assert not (tmp_path / "passing").exists()
