"""What the C library does with memory that is freed: it keeps it, instead of giving it back and fetching it again for every client.

By itself it asks the system for every array above a few hundred kB and returns it at once. A model of 800 kB is two hundred pages, each of
which costs a fault when it is first written: with small clients that took as long as an eighth of their training.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names are M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
LARGEST = 32 * 2**20  # bytes of an array that is kept; glibc takes no more
KEPT = 256 * 2**20  # bytes at most that a process keeps unused


def keep_freed_memory() -> bool:
    """For this process, from now on; says whether its C library can do that (glibc can)."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGEST)) and bool(mallopt(TRIM_THRESHOLD, KEPT))


__all__ = ["keep_freed_memory"]
