"""A server's folder in one file, made while the server runs, and the folder from that file.

The database is copied by SQLite itself, which sees one moment of it. Of a run that is going on, the checkpoint is copied before the
record of its rounds: lines that come after the checkpoint are forgotten when the run is resumed, as after a kill. Left out is what
comes by itself: Flower's own files, and the server's log.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from deploy.upkeep import DATABASE
from fl_config.errors import ConfigError
from fl_runs.checkpoints import PREVIOUS, whole_lines
from fl_strategies.checkpoint import FILE as STATE
from fl_strategies.checkpoint import load_checkpoint

MANIFEST, KEYS, FORMAT = "backup.json", "keys", 1
LEFT_OUT = ("flower", "server.log")  # what begins so, in the server's folder
CHECKPOINT, METRICS, CONFIG = "checkpoint", "metrics.jsonl", "config.toml"
KEY_FILES = ("ca.crt", "server.crt", "server.key")
LOOKS, PAUSE = 40, 0.25  # at a run whose checkpoint is written and whose line is not yet


@dataclass(frozen=True)
class Manifest:
    """What a backup says of itself."""

    made: str
    fedloom: str
    runs: list[str]
    keys: bool
    format: int = FORMAT


def back_up(folder: Path, file: Path, keys: Path | None = None) -> Manifest:
    """Write the server's folder to a new file; with `keys`, the server's certificate and private key too."""
    if not (folder / DATABASE).is_file():
        raise ConfigError(
            f"{folder} is no server's folder: there is no {DATABASE} in it. Give the one of `fedloom deploy server`."
        )
    if file.exists():
        raise ConfigError(f"{file} exists already, and nothing is overwritten: choose another name.")
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.resolve().parent) as made:
        copy = Path(made) / "folder"
        copy.mkdir()
        copy_database(folder / DATABASE, copy / DATABASE)
        runs = _copy_files(folder, copy)
        if keys is not None:
            (copy / KEYS).mkdir()
            for name in KEY_FILES:
                shutil.copy2(keys / name, copy / KEYS / name)
        manifest = Manifest(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", version("fedloom"), runs, keys is not None)
        (copy / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
        draft = Path(made) / "archive"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened, tarfile.open(fileobj=opened, mode="w:gz") as archive:
            archive.add(copy / MANIFEST, MANIFEST)  # first, so that it is found at once
            for path in sorted(copy.iterdir()):
                if path.name != MANIFEST:
                    archive.add(path, path.name)
        draft.rename(file)
    return manifest


def restore(file: Path, folder: Path) -> Manifest:
    """Make a new server's folder of a backup, whole or not at all."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty, and nothing is overwritten: choose another --folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        _opened(file) as (archive, manifest),
        tempfile.TemporaryDirectory(prefix=".restore-", dir=folder.resolve().parent) as made,
    ):
        try:
            archive.extractall(made, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise ConfigError(f"{file} cannot be unpacked ({error}): it is damaged, or the disk is full.") from None
        (Path(made) / MANIFEST).unlink()
        folder.mkdir(exist_ok=True)
        for path in Path(made).iterdir():
            path.rename(folder / path.name)
    folder.chmod(0o700)
    return manifest


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[tuple[tarfile.TarFile, Manifest]]:
    with contextlib.ExitStack() as stack:
        try:
            archive = stack.enter_context(tarfile.open(file, "r:gz"))
            first = archive.next()
            found = archive.extractfile(first) if first is not None and first.name == MANIFEST else None
            told = json.loads(found.read()) if found else {}
        except FileNotFoundError:
            raise ConfigError(f"There is no file {file}.") from None
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise ConfigError(f"{file} is no backup of `fedloom deploy backup` ({error}).") from None
        if told.get("format") != FORMAT:
            raise ConfigError(f"{file} is no backup of `fedloom deploy backup`, or one of another version.")
        yield archive, Manifest(**told)


def copy_database(source: Path, target: Path) -> None:
    """One moment of a database that others may be writing to."""
    with (
        contextlib.closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=60)) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


def _copy_files(folder: Path, copy: Path) -> list[str]:
    """Everything but the database; returns the run folders."""
    runs = sorted(path.parent for path in folder.rglob(CONFIG) if not _left_out(path.relative_to(folder)))
    for run in runs:
        copy_run(run, copy / run.relative_to(folder))
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if not _left_out(place) and path.is_file() and not any(path.is_relative_to(run) for run in runs):
            _copy(path, copy / place)
    return [str(run.relative_to(folder)) for run in runs]


def _left_out(place: Path) -> bool:
    return place.parts[0].startswith((DATABASE, *LEFT_OUT))


def copy_run(run: Path, copy: Path) -> None:
    """A run's folder as a resume can use it: never with a checkpoint whose round has no line and nothing to fall back on."""
    for _ in range(LOOKS):
        for path in sorted((run / CHECKPOINT).glob("*")):
            _copy(path, copy / CHECKPOINT / path.name)
        _copy(run / METRICS, copy / METRICS)
        if _goes_on(copy):
            break
        shutil.rmtree(copy, ignore_errors=True)
        time.sleep(PAUSE)
    else:
        raise ConfigError(
            f"The run in {run} has a checkpoint whose round is not in {METRICS}: it cannot be backed up as it is."
        )
    for path in sorted(run.rglob("*")):
        place = path.relative_to(run)
        if place.parts[0] not in (CHECKPOINT, METRICS) and path.is_file() and not path.name.startswith("."):
            _copy(path, copy / place)


def _goes_on(run: Path) -> bool:
    if not (run / CHECKPOINT / STATE).exists() or (run / CHECKPOINT / PREVIOUS).exists():
        return True
    lines = [record["round"] for record in whole_lines(run / METRICS)]
    return load_checkpoint(run / CHECKPOINT).round <= max(lines, default=-1)


def _copy(source: Path, target: Path) -> None:
    """A file that is gone when its turn comes has been replaced or is not needed any more."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)
