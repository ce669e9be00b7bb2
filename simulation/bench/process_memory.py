"""Memory of a process and everything it started: the sum of their proportional set sizes, so that shared pages count once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.2  # seconds between two looks


@dataclass
class Peak:
    mb: float = 0.0


def family(pid: int) -> set[int]:
    """The process and its descendants."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found = {pid}
    while fresh := {child for child, parent in parents.items() if parent in found} - found:
        found |= fresh
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def memory_mb(pid: int) -> float:
    """Megabytes of the process and its descendants; 0 where the system does not tell."""
    total = 0
    for member in family(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


@contextlib.contextmanager
def peak_memory(pid: int) -> Iterator[Peak]:
    """Watch a process in the background for as long as the block lasts; the peak grows meanwhile."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL):
            peak.mb = max(peak.mb, memory_mb(pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
        peak.mb = max(peak.mb, memory_mb(pid))
