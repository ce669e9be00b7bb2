"""Whether decoded arrays are the published data set: counts, classes, and a checksum where one is known."""

from __future__ import annotations

import hashlib

import numpy as np

from fl_data.catalog import Entry, Expected
from fl_data.dataset import DataError, Decoded

ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def fingerprint(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over name, type, shape and bytes of the four arrays."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def verify(entry: Entry, decoded: Decoded, expected: Expected) -> None:
    """Raise unless the arrays are what the catalog announces: types, counts, classes, and the checksum where one is known."""
    for split, count in (("train", expected.train), ("test", expected.test)):
        x, y = decoded.arrays()[f"x_{split}"], decoded.arrays()[f"y_{split}"]
        if count is not None and len(x) != count:
            raise DataError(f"it has {len(x):,} {split} samples where {entry.name} has {count:,}.")
        if not len(x) or x.shape[1:] != entry.shape:
            raise DataError(
                f"its {len(x)} {split} samples have shape {x.shape[1:]} where {entry.name} has {entry.shape}."
            )
        if len(y) != len(x) or y.min() < 0 or y.max() >= entry.classes:
            raise DataError(f"its {split} labels do not fit {entry.classes} classes.")
        counts = np.bincount(y, minlength=entry.classes)
        if (split == "train" and (counts == 0).any()) or (expected.balanced and len(set(counts.tolist())) > 1):
            raise DataError(
                f"its {split} classes have {counts.min()} to {counts.max()} samples, which is not {entry.name}."
            )
    if len(decoded.class_names) != entry.classes:
        raise DataError(f"it has {len(decoded.class_names)} classes where {entry.name} has {entry.classes}.")
    if expected.sha256 is not None and fingerprint(decoded.arrays()) != expected.sha256:
        raise DataError(f"its checksum is {fingerprint(decoded.arrays())} where {entry.name} has {expected.sha256}.")
