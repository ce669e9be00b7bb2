"""Writing files so that nobody ever sees half of one, and so that what goes wrong names the file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a reader, or a kill at any moment, sees either the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f".{path.name}.{os.getpid()}"
    with naming(path):
        if path.is_dir():  # of ".", which has no name, the system would say that it is busy
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink()  # on a full disk, what it takes is needed
            raise


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let a failure inside name this file: that of a write names none, that of a draft a file which nobody knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
