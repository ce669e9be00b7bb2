"""What clients remember, where a node does not share the driver's disk: the files travel with the message and back.

The driver's folder is the truth. A task for a client on such a node brings the client's files along (a `Luggage`); the worker
lays them into a folder of its own, which is the client's state folder there, and answers with what has changed (`Souvenirs`). The driver
writes that before anybody sees the reply, so that a checkpoint never names a state that is not there. A task that never came back
has changed nothing, and is run again from the same files.

After the task the node keeps the files of the client. If nobody else had the client meanwhile, the next task there takes them from the node:
the driver, who deals every task, knows where a client was last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

SCRATCH, LOCK = "fedloom-away-", ".lock"
ABANDONED = 3600.0  # seconds; a folder whose run is just beginning is not locked yet
CONTEXTS = "contexts"  # the folder beside the clients' own, for what a foreign app keeps in `context.state`
Files = dict[str, tuple[int, NDArray[np.uint8]]]  # path in the state folder -> permissions and content


@dataclass
class Luggage:
    """What a client has to find where it is run: files that travel, and files that a task before left on the node."""

    files: Files
    kept: list[str] = field(default_factory=list)
    after: str = ""  # the message id of that task


@dataclass
class Souvenirs:
    """What a client has changed, and where; `lost` if the node had not kept what it should have, and nothing was run."""

    node: str
    files: Files = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    lost: bool = False


class LostLuggage(Exception):
    """A file that the node should have kept is not there."""


def context_file(partition: int) -> str:
    return f"{CONTEXTS}/{partition}.state"


def scratch_folder(run: str, node: str) -> Path:
    """Where the workers of a run on a node keep files; they share it, so that a client may change between them."""
    return Path(tempfile.gettempdir()) / f"{SCRATCH}{run}-{node[:12]}"


def sweep_abandoned() -> None:
    """Remove the folders of runs whose driver was killed. A worker holds a lock in its folder as long as it lives."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with (
            contextlib.suppress(OSError, Timeout),
            contextlib.ExitStack() as held,
        ):  # just gone, another user's, or in use
            if time.time() - folder.stat().st_mtime > ABANDONED:
                for lock in folder.glob(f"*{LOCK}"):
                    held.enter_context(FileLock(lock).acquire(timeout=0))
                shutil.rmtree(folder, ignore_errors=True)


def files_in(folder: Path, entry: str = "") -> Iterator[str]:
    """The files of an entry (a file, or a folder with all that is in it) by their path in `folder`; without drafts of others."""
    place = folder / entry
    paths = [place] if place.is_file() else sorted(place.rglob("*"))
    for path in paths:
        if path.is_file() and not path.name.startswith(".") and ".draft-" not in path.name:
            yield path.relative_to(folder).as_posix()


def read(path: Path) -> tuple[int, NDArray[np.uint8]]:
    return path.stat().st_mode & 0o777, np.fromfile(path, dtype=np.uint8)


def write(path: Path, mode: int, content: NDArray[np.uint8]) -> None:
    """Whole or not at all, as the clients themselves write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content.data)
    draft.replace(path)


class HomeFolder:
    """The driver's side. `entries` says what in the folder is a client's own (by partition); `is_away` whether a node lacks the folder."""

    def __init__(
        self,
        folder: Path,
        entries: Callable[[int], list[str]] | None = None,
        is_away: Callable[[str], bool] | None = None,
    ) -> None:
        self.folder, self.entries, self.is_away = folder, entries, is_away
        self._last: dict[
            int, tuple[str, str]
        ] = {}  # partition -> the node that has its files, and the task that left them

    def pack(self, task: Any, node: str) -> Any:
        """The task for a worker of this node, with the client's files where they have to travel."""
        last = self._last.pop(task.partition, None)  # whoever gets the client now may change its files
        if self.is_away is not None and self.is_away(node):
            own = [context_file(task.partition), *(self.entries(task.partition) if self.entries else [])]
            names = [name for entry in own for name in files_in(self.folder, entry)]
            if last is not None and last[0] == node:
                task.luggage = Luggage({}, names, last[1])
            else:
                task.luggage = Luggage({name: read(self.folder / name) for name in names})
        return task

    def unpack(self, partition: int, message_id: str, souvenirs: Souvenirs | None) -> bool:
        """Write down what a client has changed; says whether the task was run at all."""
        if souvenirs is None:
            return True
        if souvenirs.lost:
            return False
        for name, (mode, content) in souvenirs.files.items():
            write(self.folder / name, mode, content)
        for name in souvenirs.removed:
            (self.folder / name).unlink(missing_ok=True)
        self._last[partition] = souvenirs.node, message_id
        return True


class AwayFolder:
    """A worker's side: the client that it runs has the folder `own` to itself; what others left is under `kept`."""

    def __init__(self, run: str, node: str) -> None:
        self.node, scratch = node, scratch_folder(run, node)
        self.own, self.kept = scratch / f"worker-{os.getpid()}", scratch / "kept"
        self._brought: set[str] = set()
        self._lock: FileLock | None = None

    def _settle(self) -> None:
        """Before the first client: a node that shares the driver's disk never gets here, and has no such folder."""
        sweep_abandoned()
        self.own.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.own.with_name(self.own.name + LOCK))
        self._lock.acquire()

    def arrive(self, partition: int, luggage: Luggage) -> None:
        """Lay out the client's files. Their times are set to the beginning of time, so that every change shows."""
        if self._lock is None:
            self._settle()
        shutil.rmtree(self.own, ignore_errors=True)
        self.own.mkdir(parents=True)
        for name, (mode, content) in luggage.files.items():
            write(self.own / name, mode, content)
        for name in luggage.kept:
            (self.own / name).parent.mkdir(parents=True, exist_ok=True)
            try:
                (self.kept / str(partition) / luggage.after / name).replace(self.own / name)
            except FileNotFoundError as error:
                raise LostLuggage(f"{name} of client {partition} is no longer on its node") from error
        shutil.rmtree(self.kept / str(partition), ignore_errors=True)
        self._brought = {*luggage.files, *luggage.kept}
        for name in self._brought:
            os.utime(self.own / name, ns=(0, 0))

    def leave(self, partition: int, message_id: str) -> Souvenirs:
        """What has changed; all files of the client stay here for its next task."""
        names = set(files_in(self.own))
        changed = {name for name in names if name not in self._brought or (self.own / name).stat().st_mtime_ns}
        souvenirs = Souvenirs(self.node, {name: read(self.own / name) for name in sorted(changed)})
        souvenirs.removed = sorted(self._brought - names)
        place = self.kept / str(partition) / message_id
        place.parent.mkdir(parents=True, exist_ok=True)
        self.own.replace(place)
        return souvenirs
