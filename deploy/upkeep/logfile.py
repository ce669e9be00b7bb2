"""The log file of a server or a client: everything it says, with times and with names instead of node numbers, in files of limited size.

`python -m deploy.upkeep.logfile FILE` is a small process of its own, so that what Flower's other processes say is kept too. It hands
everything on to its standard output, and ends when the last of those who write to it has ended: then it deletes what they had for
the time being, which those that are killed cannot do themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

LARGEST, KEPT = 10_000_000, 4  # bytes of a file, and older files beside the current one
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
NUMBER = re.compile(rb"(?<![0-9])[0-9]{15,20}(?![0-9])")
INTRODUCED = re.compile(rb"SuperNode ID: ([0-9]+)")  # how Flower's supernode says what number it was given
MOST_NUMBERS = 10_000  # that are remembered not to be nodes; most are runs


def keep_log(file: Path, *, name: str = "", database: Path | None = None, passing: Path | None = None) -> None:
    """From now on, what this process and those that it starts say goes through such a process.

    `name` is the client's own; a server looks names up in its `database`. The folder `passing` is deleted with the last of them.
    """
    words = [sys.executable, "-m", "deploy.upkeep.logfile", str(file)]
    words += ["--passing", str(passing)] if passing else []
    words += ["--name", name] if name else ["--database", str(database)] if database else []
    sys.stdout.flush()
    sys.stderr.flush()
    keeper = subprocess.Popen(words, stdin=subprocess.PIPE)
    assert keeper.stdin is not None
    for output in (1, 2):
        os.dup2(keeper.stdin.fileno(), output)
    keeper.stdin.close()


class LogFile:
    """Lines in a file that is set aside when it is full: FILE, FILE.1 ... FILE.4, the newest first."""

    def __init__(self, path: Path, largest: int = LARGEST, kept: int = KEPT) -> None:
        self.path, self.largest, self.kept = path, largest, kept
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file: BinaryIO = path.open("ab")
        path.chmod(0o600)

    def write(self, line: bytes) -> None:
        """A line that cannot be written, as on a full disk, is left out: whoever says it must go on."""
        with contextlib.suppress(OSError):
            if self.file.tell() + len(line) > self.largest and self.file.tell():
                self._set_aside()
            self.file.write(line)
            self.file.flush()

    def _set_aside(self) -> None:
        self.file.close()
        older = [self.path, *(self.path.with_name(f"{self.path.name}.{number}") for number in range(1, self.kept + 1))]
        for newer, place in reversed(list(itertools.pairwise(older))):
            if newer.exists():
                newer.replace(place)
        self.file = self.path.open("ab")
        self.path.chmod(0o600)


class NodeNames:
    """Numbers of nodes to names: a client knows its own, a server those in its database."""

    def __init__(self, name: str = "", database: Path | None = None) -> None:
        self.name, self.database = name.encode(), database
        self.known: dict[bytes, bytes] = {}

    def put_into(self, line: bytes) -> bytes:
        if self.name and (own := INTRODUCED.search(line)):
            self.known[own[1]] = self.name
        return NUMBER.sub(lambda number: self._name(number[0]), line)

    def _name(self, number: bytes) -> bytes:
        if number not in self.known:
            if len(self.known) > MOST_NUMBERS:
                self.known.clear()
            self.known[number] = (self._look_up(int(number)) if self.database else "").encode() or number
        return self.known[number]

    def _look_up(self, number: int) -> str:
        assert self.database is not None
        place = f"{self.database.as_uri()}?mode=ro"
        signed = number - (1 << 64) if number >= 1 << 63 else number  # as the database keeps it
        try:
            with contextlib.closing(sqlite3.connect(place, uri=True)) as opened:
                found = opened.execute("SELECT name FROM node WHERE node_id = ?", (signed,)).fetchone()
        except (sqlite3.Error, OverflowError):
            return ""  # there is no database yet, or the number is none of a node
        return str(found[0] or "") if found else ""


def pass_on(
    lines: Iterable[bytes], log: LogFile, names: NodeNames, onwards: BinaryIO, clock: Callable[[], str]
) -> None:
    """Every line to the file and to `onwards`, until there is no more."""
    heard = True
    for line in lines:
        named = names.put_into(line)
        plain = COLOUR.sub(b"", named)
        if plain.strip(b" :\r\n") not in (b"", b"INFO"):  # Flower's empty lines
            log.write(clock().encode() + b" " + plain)
        if heard:
            try:
                onwards.write(named)
                onwards.flush()
            except OSError:
                heard = False  # its terminal is gone; the file remains


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main(words: list[str]) -> None:
    # Ctrl-C and systemd's end are meant for those who write; their last words are still to come.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    given = dict(zip(words[1::2], words[2::2], strict=True))
    database = Path(given["--database"]) if "--database" in given else None
    names = NodeNames(given.get("--name", ""), database)
    pass_on(sys.stdin.buffer, LogFile(Path(words[0])), names, sys.stdout.buffer, now)
    if "--passing" in given:
        shutil.rmtree(given["--passing"], ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
