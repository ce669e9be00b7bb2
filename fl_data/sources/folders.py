"""A data set's published files in a folder that is already there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fl_data.catalog import Source
from fl_data.dataset import DataError, Decoded


def from_folders(source: Source, roots: Sequence[Path]) -> Decoded:
    """Read the first of the source's folders under one of the roots that exists and holds the files."""
    if source.read is None:
        raise DataError(f"{source} names no reader.")
    problems: list[str] = []
    for place in (root / folder for root in roots for folder in source.folders):
        if place.is_dir():
            try:
                return source.read(place)
            except DataError as error:
                # The files may lie in the next folder, as EMNIST's do in raw or in raw/gzip.
                problems.append(str(error))
    if problems:
        raise DataError(" ".join(problems))
    wanted = " or ".join(source.folders)
    raise DataError(f"no folder {wanted} under {', '.join(str(root) for root in roots)}.")
