"""What a client remembers between rounds: vectors filed under the round that made them.

A reply may never be used (lost, late, refused), and then its state must not count. So nothing is overwritten: the state that a
round proposes is kept beside the older one, and the server names the last round of this client that it used. That one is loaded,
whatever came after it is forgotten. The server also names the round in its last checkpoint, which is kept for a resume.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

Arrays = dict[str, NDArray[np.float32]]
ASIDE = "fedloom-aside"  # the record of what was put aside


def entries_of(client_id: int | str) -> tuple[str, str, str]:
    """What in a state folder is this client's own: the folder of its memory, the file of its secret, and what it has put aside."""
    name = quote(str(client_id), safe="")
    return name, f"{name}.secret", f"{name}.round"


class Memory(Protocol):
    def load(self, round: int) -> Arrays:
        """What `save` filed under this round; empty for round 0 or a round that proposed nothing."""

    def save(self, round: int, arrays: Arrays) -> None: ...

    def keep(self, rounds: Iterable[int]) -> None:
        """Forget everything but these rounds."""

    def put_aside(self, text: bytes) -> None:
        """Keep the secrets of the round that is going on, in place of older ones; nothing forgets them."""

    def aside(self) -> bytes:
        """What was put aside; nothing where there is none."""


class RecordMemory:
    """Memory in the records of a Flower `Context.state`."""

    def __init__(self, records: RecordDict | None = None) -> None:
        self.records = RecordDict() if records is None else records

    def load(self, round: int) -> Arrays:
        record = self.records.get(f"fedloom.{round}")
        return {name: array.numpy() for name, array in record.items()} if isinstance(record, ArrayRecord) else {}

    def save(self, round: int, arrays: Arrays) -> None:
        if arrays:
            self.records[f"fedloom.{round}"] = ArrayRecord({name: Array(value) for name, value in arrays.items()})

    def keep(self, rounds: Iterable[int]) -> None:
        kept = {f"fedloom.{round}" for round in rounds}
        for key in [key for key in self.records if key.startswith("fedloom.") and key not in kept]:
            del self.records[key]

    def put_aside(self, text: bytes) -> None:
        self.records.pop(ASIDE, None)
        if text:
            self.records[ASIDE] = ConfigRecord({"text": text})

    def aside(self) -> bytes:
        record = self.records.get(ASIDE)
        text = record.get("text") if isinstance(record, ConfigRecord) else None
        return text if isinstance(text, bytes) else b""


class FolderMemory:
    """Memory in a folder, one file per round, written whole or not at all; survives the process."""

    def __init__(self, folder: Path, client_id: int | str) -> None:
        # Text, as everything here happens for every client of every round, and objects of pathlib take their time.
        own, _, aside = entries_of(client_id)
        self.folder, self.file_aside = os.path.join(folder, own), os.path.join(folder, aside)

    def _file(self, round: int) -> str:
        return os.path.join(self.folder, f"{round}.safetensors")

    def load(self, round: int) -> Arrays:
        file = self._file(round)
        return load_file(file) if round and os.path.exists(file) else {}

    def save(self, round: int, arrays: Arrays) -> None:
        if arrays:
            os.makedirs(self.folder, exist_ok=True)
            draft = os.path.join(self.folder, f"{round}.draft-{os.getpid()}")
            save_file({name: np.asarray(value, order="C") for name, value in arrays.items()}, draft)
            os.replace(draft, self._file(round))

    def keep(self, rounds: Iterable[int]) -> None:
        try:
            present = os.listdir(self.folder)
        except FileNotFoundError:
            return  # it never remembered anything
        for name in set(present) - {f"{round}.safetensors" for round in rounds}:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))

    def put_aside(self, text: bytes) -> None:
        if not text:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.file_aside)
            return
        os.makedirs(os.path.dirname(self.file_aside), exist_ok=True)
        draft = f"{self.file_aside}-{os.getpid()}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # only for its owner
            file.write(text)
        os.replace(draft, self.file_aside)

    def aside(self) -> bytes:
        try:
            with open(self.file_aside, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""
