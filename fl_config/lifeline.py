"""Processes that end with the one that started them, whatever ended it.

A parent that is killed with SIGKILL can tell nobody. Two things notice it nevertheless: the kernel, where it is Linux, ends the
child at once; and a pipe that only the parent holds open is at its end when the parent is gone, on every system.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

# Of Linux's <sys/prctl.h>.
SET_SIGNAL_OF_PARENTS_DEATH, SET_NAME = 1, 15
LONGEST_NAME = 15  # characters that the kernel keeps
PIPE = 0  # standard input
TIED = "FEDLOOM_TIED"  # a variable for those who may be started by hand as well


def start_tied(
    words: Sequence[str], said: str = "", environment: Mapping[str, str] | None = None, **how: Any
) -> subprocess.Popen[bytes]:
    """Start a process that calls `tie_to_parent`; it is told `said` on a line that no listing of processes shows.

    The process must be kept: its end of the pipe is what the child lives by.
    """
    tied = {**(os.environ if environment is None else environment), TIED: "1"}
    process = subprocess.Popen(words, env=tied, stdin=subprocess.PIPE, **how)
    assert process.stdin is not None
    try:
        process.stdin.write(f"{said}\n".encode())
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended already, as its exit code says
    return process


def tie_to_parent() -> str:
    """End this process as soon as the one that started it by `start_tied` has ended; returns what that one said.

    A process that was started otherwise lives by itself.
    """
    if os.environ.pop(TIED, None) is None:
        return ""
    die_with_parent()
    said = b""
    while not said.endswith(b"\n"):
        byte = os.read(PIPE, 1)
        if not byte:
            os._exit(1)
        said += byte
    threading.Thread(target=_until_end, daemon=True, name="lifeline").start()
    return said.decode().strip()


def _until_end() -> None:
    # Not by sys.stdin, which Python cannot close in order while a thread waits for it.
    while os.read(PIPE, 4096):
        continue
    os.kill(os.getpid(), signal.SIGKILL)


def die_with_parent() -> None:
    """Have the kernel end this process with its parent, where the kernel is Linux; elsewhere nothing happens."""
    parent = os.getppid()
    _prctl(SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os._exit(1)


def die_with_creator() -> None:
    """End this process, one of `multiprocessing`, with the one that asked for it.

    Under a forkserver that is not its parent; and the forkserver itself goes on for as long as there is a child of its.
    """
    die_with_parent()
    creator = multiprocessing.parent_process()
    if creator is not None:
        threading.Thread(target=_outlive, args=(creator,), daemon=True, name="lifeline").start()


def _outlive(creator: Any) -> None:
    creator.join()
    os.kill(os.getpid(), signal.SIGKILL)


def name_process(name: str) -> None:
    """What `ps` and `top` call this process, where the system is Linux."""
    _prctl(SET_NAME, ctypes.c_char_p(name[:LONGEST_NAME].encode()))


def _prctl(what: int, value: Any) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)
