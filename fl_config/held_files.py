"""Files by which a process shows that it is there: it holds a lock on one that it has open.

The system releases the lock however the process ends, so that nothing has to be tidied up after a kill, and a process that later
gets the same number is not taken for it.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TypeVar

Handler = TypeVar("Handler", bound=logging.FileHandler)


def held(log: Handler) -> Handler:
    """The log, locked until it is closed. Where files cannot be locked, whoever looks takes its process for ended."""
    if sys.platform != "win32" and log.stream is not None:
        import fcntl

        try:
            fcntl.flock(log.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return log
    return log


def is_held(path: Path) -> bool:
    """Whether a process, here or on a machine that shares the disk, has the file open and holds it."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
