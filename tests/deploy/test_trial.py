"""A trial is one command: it ends its server and its clients when the run ends, when it is stopped, and when it is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.trial import Trial, goes_on
from tests.deploy.federation import PATIENCE, alive, processes_of, tree_of


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    short = Path(tempfile.mkdtemp(prefix="t"))  # a socket's path may have about a hundred characters
    (tmp_path / "t").symlink_to(short)
    yield tmp_path
    for process in processes_of(tmp_path):
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(short)


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fedloom", "deploy", "trial", "--clients", "2", "--model", "linear", "--out", "out", *words],
        cwd=folder,
        env={**os.environ, "FEDLOOM_TEST": str(folder), "OMP_NUM_THREADS": "1", "TMPDIR": str((folder / "t").resolve())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def test_a_whole_federation_in_one_command(folder: Path) -> None:
    trial = started(folder, "--rounds", "2", "--partition", "dirichlet:0.5", "--strategy", "feddisco")
    said = trial.communicate(timeout=PATIENCE)[0]
    assert trial.returncode == 0, said
    assert "round 2/2" in said and "Server and clients are ended" in said and "report.html" in said
    assert json.loads((folder / "out" / "summary.json").read_text())["finished"] is True
    assert (folder / "out" / "report.html").is_file()
    assert not processes_of(folder)
    assert not list((folder / "t").iterdir()), "keys, logs or sockets are left"


def test_one_that_is_stopped_before_it_began_leaves_nothing(folder: Path) -> None:
    trial = started(folder, "--rounds", "2")
    assert trial.stdout is not None
    said = trial.stdout.readline()
    assert "Starting a server" in said
    trial.send_signal(signal.SIGINT)
    said += trial.communicate(timeout=PATIENCE)[0]
    assert trial.returncode == 130 and "Traceback" not in said, said
    deadline = time.monotonic() + 60
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.1)  # those that keep the logs are the last
    assert not processes_of(folder) and not list((folder / "t").iterdir()) and not (folder / "out").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_nothing_outlives_a_trial(folder: Path, number: int, code: int) -> None:
    trial = started(folder, "--rounds", "5000", "--folder", "kept")
    deadline = time.monotonic() + PATIENCE
    while not (folder / "out" / "metrics.jsonl").exists():
        assert trial.poll() is None and time.monotonic() < deadline, trial.communicate()[0]
        time.sleep(0.1)
    whole = tree_of(trial.pid)
    assert len(whole) > 6, "a server, two clients, and their launchers"
    trial.send_signal(number)
    said = trial.communicate(timeout=PATIENCE)[0]
    assert trial.returncode == code, said
    deadline = time.monotonic() + 60
    while alive(set(processes_of(folder)) | whole) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(set(processes_of(folder)) | whole)
    assert not list((folder / "t").iterdir()), "sockets are left"
    if number == signal.SIGINT:
        assert "Traceback" not in said and "What is finished is in" in said


SLOW = """
import signal, time
from pathlib import Path
from deploy.upkeep.logfile import keep_log
signal.signal(signal.SIGTERM, signal.SIG_IGN)
keep_log(Path("server.log"), passing=Path("passing"))
print("It listens.", flush=True)
time.sleep(600)
"""


def test_one_that_must_be_killed_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine: the server does not end in its time, but who deletes its temporary files has time of its own."""
    monkeypatch.setattr("deploy.trial.PATIENCE", 0.5)
    (tmp_path / "passing" / "pymp-socket").mkdir(parents=True)
    trial = Trial(tmp_path, 0, [], threading.Event())
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    slow = trial.processes["server"] = subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, start_new_session=True
    )
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "server.log").exists() or "It listens" not in trial.log("server"):
        assert slow.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    trial.end()
    assert slow.returncode == -signal.SIGKILL
    assert not (tmp_path / "passing").exists()
    assert not trial.processes


def test_who_has_ended_and_is_not_asked_for_holds_nobody_up() -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) for _ in "ab"
    ]
    assert [goes_on(one.pid) for one in started] == [True, True]
    started[0].kill()
    deadline = time.monotonic() + PATIENCE
    while alive({started[0].pid}) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(started[0].pid, 0)  # it is still listed, because nobody has waited for it
    assert [goes_on(one.pid) for one in started] == [False, True]
    for one in started:
        one.communicate()
    assert [goes_on(one.pid) for one in started] == [False, False]


def test_what_cannot_run_is_told_before_anything_starts(folder: Path) -> None:
    for words, sentence in {
        ("--partition", "private"): "A trial divides a public data set",
        ("--strategy", "fedavgg"): "fedavg",
        ("--dataset", "npz:nowhere.npz"): "nowhere.npz",
    }.items():
        trial = started(folder, *words, "--folder", "none")
        said = trial.communicate(timeout=PATIENCE)[0]
        assert trial.returncode == 2 and sentence in said and "Starting a server" not in said, said
        assert not (folder / "none").exists()
