"""A process ends with the one that started it, even if that one is killed, and learns what it was told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fl_config.lifeline import LONGEST_NAME, TIED, start_tied

CHILD = """
import sys, time
from fl_config import lifeline
{before}
print(lifeline.tie_to_parent() or "nothing was said", flush=True)
time.sleep(600)
"""
PARENT = """
import sys, time
from fl_config.lifeline import start_tied
child = start_tied([sys.executable, "-c", sys.argv[1]], said="a secret")
print(child.pid, flush=True)
time.sleep(600)
"""
WITHOUT_THE_KERNEL = "lifeline.die_with_parent = lambda: None"


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("before", ["", WITHOUT_THE_KERNEL], ids=["kernel and pipe", "pipe alone"])
def test_a_child_ends_with_its_killed_parent(before: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD.format(before=before)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert parent.stdout.readline() == "a secret\n"
    assert is_alive(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 60
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(child)


FORKING = """
import multiprocessing, os, time
from fl_config.lifeline import die_with_creator

def work():
    die_with_creator()
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    child = multiprocessing.get_context("forkserver").Process(target=work)
    child.start()
    child.join()
"""


def test_a_fork_of_a_forkserver_ends_with_the_killed_process_that_asked_for_it(tmp_path: Path) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    root = Path(__file__).resolve().parents[2]
    creator = subprocess.Popen(
        [sys.executable, str(tmp_path / "forking.py")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert creator.stdout is not None
    child = int(creator.stdout.readline())
    assert is_alive(child)
    creator.kill()
    creator.wait()
    deadline = time.monotonic() + 60
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(child)


def test_who_was_started_otherwise_lives_by_itself() -> None:
    words = [sys.executable, "-c", CHILD.format(before="").replace("600", "0")]
    plain = {name: value for name, value in os.environ.items() if name != TIED}
    done = subprocess.run(
        words, env=plain, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "nothing was said\n")


def test_a_child_that_ended_at_once_is_no_error_of_the_parent() -> None:
    assert start_tied([sys.executable, "-c", "raise SystemExit(3)"]).wait(60) == 3


def test_a_process_can_be_named() -> None:
    code = "from fl_config.lifeline import name_process\nname_process('fedloom-' + 'x' * 20)\nprint(open('/proc/self/comm').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ("fedloom-" + "x" * 20)[:LONGEST_NAME]
