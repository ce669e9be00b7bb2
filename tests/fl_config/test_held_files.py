"""A file is held as long as a process has it open, and no longer."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from pathlib import Path

from fl_config.held_files import held, is_held

HOLDING = """
import logging, sys, time
from fl_config.held_files import held
log = held(logging.FileHandler(sys.argv[1]))
print("open", flush=True)
time.sleep(600)
"""


def test_a_log_is_held_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert not is_held(path)
    log = held(logging.FileHandler(path, encoding="utf-8"))
    assert is_held(path)
    log.emit(logging.makeLogRecord({"msg": "a line"}))
    second = held(
        logging.FileHandler(path, encoding="utf-8")
    )  # as a second process would: it writes, but does not hold
    second.close()
    assert is_held(path)
    log.close()
    assert not is_held(path)
    assert path.read_text() == "a line\n"


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "open\n"
        assert is_held(path)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert not is_held(path)
