"""The cache of decoded datasets: fetched once, verified, written atomically, then memory-mapped by every process.

The cache folder is `FEDLOOM_DATA`, else `fedloom` in the user's cache directory. In it, `arrays/NAME` holds a dataset's
four arrays as .npy files and `meta.json`. Raw files in their published layout (torchvision's folder names, such as
`FashionMNIST/raw` or `cifar-10-batches-py`; catalog.py lists them) are looked for under `FEDLOOM_RAW` if it is set, then
in `raw/` of the cache folder, then in the cache folder itself.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from fl_data.catalog import CATALOG, Entry, Source, entry_of
from fl_data.dataset import DataError, Dataset, Decoded, channel_statistics
from fl_data.sources import obtain
from fl_data.store.verification import ARRAYS, fingerprint, verify

log = logging.getLogger("fedloom")


def cache_folder(cache: Path | None = None) -> Path:
    """The given folder, `FEDLOOM_DATA`, or the user's cache directory."""
    if cache is not None:
        return Path(cache).expanduser()
    if os.environ.get("FEDLOOM_DATA"):
        return Path(os.environ["FEDLOOM_DATA"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "fedloom"


def raw_folders(cache: Path) -> list[Path]:
    given = os.environ.get("FEDLOOM_RAW")
    return [*([Path(given).expanduser()] if given else []), cache / "raw", cache]


def open_stored(entry: Entry, cache: Path, may_fetch: bool) -> Dataset:
    """The stored dataset, memory-mapped; fetched first if it is not there and may be."""
    folder = cache / "arrays" / entry.name
    if not (folder / "meta.json").is_file():
        if not may_fetch:
            raise DataError(f"The dataset {entry.name} is not in {cache}; run `fedloom data fetch {entry.name}` first.")
        fetch(entry.name, cache)
    try:
        meta = json.loads((folder / "meta.json").read_text())
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
        if any(list(arrays[name].shape) != meta["shapes"][name] for name in ARRAYS):
            raise ValueError("an array has another shape than announced")
        return Dataset(
            entry.name, entry.kind, **arrays, num_classes=entry.classes, class_names=tuple(meta["class_names"]),
            mean=tuple(meta["mean"]) if meta["mean"] else None, std=tuple(meta["std"]) if meta["std"] else None,
            flips=entry.flips, vocabulary=int(meta["vocabulary"]),
        )  # fmt: skip
    except (FileNotFoundError, EOFError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"The stored copy of {entry.name} in {folder} is damaged ({error}); run `fedloom data fetch {entry.name}`."
        ) from error


def fetch(name: str, cache: Path | None = None) -> Path:
    """The folder of a dataset's arrays: the stored one if its checksum holds, else fetched from the first source that works."""
    entry = entry_of(name)
    root = cache_folder(cache)
    folder = root / "arrays" / name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f"{name}.lock"):
            if not _intact(folder):
                decoded, source = _first_source(entry, root)
                _write(entry, decoded, source, folder)
    except OSError as error:
        raise DataError(f"The cache folder {root} cannot be used ({error}); set FEDLOOM_DATA to another.") from error
    return folder


def _intact(folder: Path) -> bool:
    try:
        meta = json.loads((folder / "meta.json").read_text())
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
        if fingerprint(arrays) == meta["sha256"]:
            return True
    except FileNotFoundError:
        return False
    except (EOFError, ValueError, KeyError, TypeError) as error:
        log.warning("%s cannot be read (%s).", folder, error)
    log.warning("The stored copy in %s is damaged and is fetched again.", folder)
    return False


def _first_source(entry: Entry, root: Path) -> tuple[Decoded, Source]:
    tried = []
    for source in entry.sources:
        with tempfile.TemporaryDirectory(prefix=f"{entry.name}-", dir=root / "arrays") as scratch:
            try:
                decoded = obtain(entry, source, Path(scratch), raw_folders(root))
                verify(entry, decoded, source.expected or entry.expected)
            except DataError as error:
                log.info("%s from %s: %s", entry.name, source, error)
                tried.append(f"{source}: {error}")
                continue
        log.info("%s from %s: %d + %d samples.", entry.name, source, len(decoded.y_train), len(decoded.y_test))
        if source.caution:
            log.warning("%s: %s", entry.name, source.caution)
        return decoded, source
    files = next((source.folders for source in entry.sources if source.kind == "files"), ())
    by_hand = f" By hand: put its files in {root / 'raw' / files[0]} and fetch again." if files else ""
    raise DataError(f"The dataset {entry.name} could not be fetched. Tried " + " | ".join(tried) + by_hand)


def _write(entry: Entry, decoded: Decoded, source: Source, folder: Path) -> None:
    """Everything into a folder beside the final one, then one rename: a kill leaves no half of a dataset."""
    arrays = decoded.arrays()
    mean, std = channel_statistics(decoded.x_train) if entry.kind == "image" else (None, None)
    meta = {
        "name": entry.name, "source": str(source), "caution": source.caution, "sha256": fingerprint(arrays),
        "shapes": {name: list(array.shape) for name, array in arrays.items()}, "class_names": decoded.class_names,
        "mean": mean, "std": std, "vocabulary": decoded.vocabulary,
    }  # fmt: skip
    fresh = Path(tempfile.mkdtemp(prefix=f"{entry.name}-", dir=folder.parent))
    try:
        fresh.chmod(0o755)
        for name, array in arrays.items():
            np.save(fresh / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        if decoded.writers is not None:
            (fresh / "writers.json").write_text(json.dumps(decoded.writers))
        (fresh / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def available(cache: Path | None = None) -> list[dict[str, Any]]:
    """One row per known dataset: name, size, classes, whether it is in the cache, and its sources in order."""
    root = cache_folder(cache)
    rows = []
    for entry in CATALOG.values():
        expected = entry.expected
        counts = "as published" if expected.train is None else f"{expected.train:,} + {expected.test:,}"
        rows.append(
            {
                "name": entry.name,
                "kind": entry.kind,
                "size": f"{counts}, {'x'.join(map(str, entry.shape))}",
                "classes": entry.classes,
                "present": (root / "arrays" / entry.name / "meta.json").is_file(),
                "sources": [str(source) for source in entry.sources],
                "notes": entry.note,
            }
        )
    return rows
