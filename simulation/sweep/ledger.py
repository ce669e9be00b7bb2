"""The folder of a sweep: what the sweep is (`sweep.json`), which of its runs are finished, and that only one process works in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_config.options import Options, as_flat, changes_numbers, options
from fl_runs.folder import CONFIG
from fl_runs.reading import read_run
from simulation.sweep.grid import Grid, Job
from simulation.sweep.sweep_file import FILE, read_sweep

LOCK = ".sweep.lock"
SHOWN = 100  # characters of a value in a sentence about a difference


def definition(
    values: Mapping[str, Any], strategies: Sequence[str], grid: Grid, seeds: int, sources: str
) -> dict[str, Any]:
    """What makes a sweep this sweep: everything that changes its numbers, and nothing about how fast it is made."""
    usual = as_flat(Options())
    flat = as_flat(options(values))
    given = {key: value for key, value in flat.items() if changes_numbers(key) and value != usual.get(key)}
    return {
        "strategies": list(dict.fromkeys(strategies)),
        "grid": {key: list(of) for key, of in grid.items()},
        "seeds": seeds,
        "options": dict(sorted(given.items())),
        "sources": sources,
    }


def open_folder(folder: Path, sweep: Mapping[str, Any], jobs: Sequence[Job]) -> bool:
    """Begin the sweep there, or see that it is the one that was begun; says whether it goes on."""
    path = folder / FILE
    if not path.exists():
        if folder.exists() and any(item.name != LOCK for item in folder.iterdir()):
            raise ConfigError(
                f"The folder {folder} is not empty and holds no sweep: choose another --out for this one."
            )
        content = {**sweep, "runs": [job.name for job in jobs]}
        write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())
        return False
    before = read_sweep(folder)
    for key in ("strategies", "grid", "seeds", "sources"):
        _check_same(key, before.get(key), sweep[key], folder)
    keys = dict.fromkeys([*before.get("options", {}), *sweep["options"]])
    usual = as_flat(Options())
    for key in keys:
        was, is_now = (one.get(key, usual.get(key)) for one in (before.get("options", {}), sweep["options"]))
        _check_same(key, was, is_now, folder)
    return True


def is_finished(folder: Path) -> bool:
    return (folder / CONFIG).exists() and read_run(folder).finished


def clear_drafts(folder: Path) -> None:
    """Remove what a kill left of a run before it had written its configuration, so that it can begin."""
    if folder.exists() and not (folder / CONFIG).exists():
        for draft in folder.glob(f".{CONFIG}.*"):
            draft.unlink()


@contextmanager
def alone_in(folder: Path, what: str = "A sweep") -> Iterator[None]:
    """Within it, no other process makes runs in this folder; the system frees it even if this process is killed."""
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"{what} is already running in {folder}: wait for it, or choose another --out.") from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        if made and not any(folder.iterdir()):
            folder.rmdir()  # a sweep that was refused leaves nothing


def _check_same(key: str, before: object, now: object, folder: Path) -> None:
    if before != now:
        was, is_now = (json.dumps(value)[:SHOWN] for value in (before, now))
        raise ConfigError(
            f"The folder {folder} holds another sweep: there {key!r} is {was}, here it is {is_now}. Choose another --out, or "
            "repeat the first command to go on with it."
        )
