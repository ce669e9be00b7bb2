"""Memory that the driver and the workers of one machine share, so that arrays need not be sent.

It is one file in the machine's memory file system, mapped by everybody. The driver hands out ranges of it: for the arrays that it
sends, and for those that a worker will send back. A range is free again when no array of this process lies in it any more, whoever
holds the array, so that nothing can be overwritten that somebody still reads. Memory is reserved before it is handed out: a full file
system is noticed here, where there is another way, and not as the death of a worker.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import secrets
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_models.flat import address

FOLDER = Path("/dev/shm")
NAME = re.compile(r"fedloom-(\d+)-[0-9a-f]+")
LINE = 64  # bytes: ranges begin on a cache line of their own
STEP = 2**24  # bytes that are reserved at a time
SHARE = 0.5  # of the file system's free space that one run may take


class Mapping:
    """The file as one process sees it."""

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        descriptor = os.open(path, os.O_RDWR)
        try:
            self.memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self.start = address(np.frombuffer(self.memory, dtype=np.uint8, count=1))

    def array(self, offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """The numbers that lie there."""
        return np.ndarray(shape, dtype=dtype, buffer=self.memory, offset=offset)

    def offset_of(self, values: NDArray[Any]) -> int | None:
        """Where an array lies in this memory; None if it does not."""
        offset = address(values) - self.start
        return offset if 0 <= offset < len(self.memory) else None


class Range:
    """A piece of the memory. Its arrays keep it, and it is free again when the last of them is gone."""

    def __init__(self, mapping: Mapping, offset: int, size: int) -> None:
        self.offset, self.size = offset, size
        self.memory: Any = (ctypes.c_uint8 * size).from_buffer(mapping.memory, offset)

    def holds(self, offset: int) -> bool:
        return self.offset <= offset < self.offset + self.size

    def array(self, offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.ndarray(shape, dtype=dtype, buffer=self.memory, offset=offset - self.offset)


class SharedMemory:
    """The driver's side: it owns the file and hands out ranges."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        path = FOLDER / f"fedloom-{os.getpid()}-{secrets.token_hex(8)}"
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(self._descriptor, limit)  # takes no memory yet
        self.mapping = Mapping(path, limit)
        self._free: list[tuple[int, int]] = []  # (offset, size), by offset
        self._reserved = 0
        self._returned: deque[tuple[int, int]] = deque()

    @classmethod
    def open(cls) -> SharedMemory | None:
        """None where the machine has no such file system, or no room in it."""
        try:
            remove_orphans()
            space = os.statvfs(FOLDER)
            return cls(int(space.f_bavail * space.f_frsize * SHARE) // LINE * LINE)
        except (OSError, ValueError):  # ValueError: a mapping of size 0
            return None

    @property
    def path(self) -> str:
        return str(self.mapping.path)

    def take(self, size: int) -> Range | None:
        """A range of this many bytes; None where there is no room for it."""
        size = max(LINE, -(-size // LINE) * LINE)
        while self._returned:
            self._put_back(*self._returned.popleft())
        place = next((i for i, (_, room) in enumerate(self._free) if room >= size), None)
        if place is None:
            if not self._reserve(size):
                return None
            place = len(self._free) - 1
        offset, room = self._free.pop(place)
        if room > size:
            self._free.insert(place, (offset + size, room - size))
        taken = Range(self.mapping, offset, size)
        weakref.finalize(taken.memory, self._returned.append, (offset, size)).atexit = False
        return taken

    def _reserve(self, size: int) -> bool:
        """Add to the end; together with what is free there it holds `size`."""
        at_end = self._free[-1][1] if self._free and sum(self._free[-1]) == self._reserved else 0
        more = min(max(size - at_end, STEP), self.limit - self._reserved)
        if more + at_end < size:
            return False
        try:
            os.posix_fallocate(self._descriptor, self._reserved, more)
        except OSError:
            return False
        self._put_back(self._reserved, more)
        self._reserved += more
        return True

    def _put_back(self, offset: int, size: int) -> None:
        place = next((i for i, (other, _) in enumerate(self._free) if other > offset), len(self._free))
        if place < len(self._free) and offset + size == self._free[place][0]:
            size += self._free.pop(place)[1]
        if place and sum(self._free[place - 1]) == offset:
            place -= 1
            before = self._free.pop(place)
            offset, size = before[0], before[1] + size
        self._free.insert(place, (offset, size))

    def close(self) -> None:
        """Remove the file; the memory itself goes with the last who has mapped it."""
        with contextlib.suppress(FileNotFoundError):
            self.mapping.path.unlink()
        os.close(self._descriptor)


def attach(path: str) -> Mapping | None:
    """The driver's memory in a worker; None on another machine, where there is no such file."""
    try:
        return Mapping(Path(path)) if path else None
    except FileNotFoundError:
        return None


def orphans() -> Iterator[Path]:
    """Files of drivers that are gone."""
    for path in FOLDER.iterdir():
        found = NAME.fullmatch(path.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            yield path


def remove_orphans() -> None:
    """A driver that was killed could not remove its file."""
    for path in orphans():
        with contextlib.suppress(OSError):  # somebody else's, or just removed by another run
            path.unlink()
