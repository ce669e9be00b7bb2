"""The log of a run, which also tells whether the run is going on: its process holds a lock on it while it writes.

The system releases the lock however the process ends, and keeps it apart from a process that got the same number later.
"""

from __future__ import annotations

import logging
import sys
from io import TextIOWrapper
from pathlib import Path


class Log(logging.FileHandler):
    """A log that does without a line which cannot be written: whatever else cannot be written says so, and says it better."""

    def _open(self) -> TextIOWrapper:
        """Where files cannot be locked, the run only looks as if it had ended."""
        file = super()._open()
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return file
        return file

    def handleError(self, record: logging.LogRecord) -> None:
        return None


def is_held(log: Path) -> bool:
    """Whether a process, here or on a machine that shares the disk, has the log of its run open."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
