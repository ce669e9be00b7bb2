"""What is to be predicted, as arrays: class numbers, numbers, or several classes per sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Labels

FEW = 10  # so many classes are never too many, however small the data


def check_classes(found: int, samples: int, where: str) -> None:
    """Raise unless the values are few enough to be classes; a target with many values is not taken for classes in silence."""
    if found > FEW and found * 10 > samples:
        raise DataError(
            f"{where} has {found:,} different values in {samples:,} samples, more than a tenth as many classes as samples: "
            "if they are numbers to predict, use --task regression."
        )


def whole_labels(y: np.ndarray, rows: int, path: Path, key: str) -> np.ndarray:
    """Labels as int64, one per sample; whole numbers only."""
    flat = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if flat.ndim != 1 or len(flat) != rows:
        raise DataError(f"{path} has {key} of shape {y.shape} for {rows} samples; one label per sample was expected.")
    if not (np.issubdtype(flat.dtype, np.integer) or np.issubdtype(flat.dtype, np.floating) or flat.dtype == bool):
        raise DataError(f"{path} has {key} of type {flat.dtype}; labels must be integers.")
    labels = flat.astype(np.int64) if np.isfinite(flat).all() else None
    if labels is None or not np.array_equal(labels, flat):
        raise DataError(
            f"{path} has labels in {key} that are not whole numbers; for other numbers use --task regression."
        )
    return labels


def number_labels(y: np.ndarray, rows: int, path: Path, key: str) -> np.ndarray:
    """Finite float32 numbers, [n] or [n, k]."""
    flat = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if flat.ndim not in (1, 2) or len(flat) != rows:
        raise DataError(
            f"{path} has {key} of shape {y.shape} for {rows} samples; one row of numbers per sample was expected."
        )
    if not (np.issubdtype(flat.dtype, np.number) or flat.dtype == bool):
        raise DataError(f"{path} has {key} of type {flat.dtype}; regression needs numbers.")
    numbers = flat.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DataError(f"{path} has NaN or infinite values in {key}; leave such samples out.")
    return numbers


def many_labels(y: np.ndarray, rows: int, path: Path, key: str) -> np.ndarray:
    """A float32 matrix of 0 and 1, [n, classes]."""
    if y.ndim != 2 or len(y) != rows or not np.isin(y, (0, 1)).all():
        raise DataError(
            f"{path} has {key} of type {y.dtype} and shape {y.shape} for {rows} samples; --task multilabel needs one row "
            "of 0 and 1 per sample, one column per class."
        )
    return y.astype(np.float32)


def read_labels(y: np.ndarray, rows: int, path: Path, key: str, labels: Labels) -> np.ndarray:
    """Labels of the wanted kind; classes keep the numbers of the file."""
    reader = {"classes": whole_labels, "numbers": number_labels, "many": many_labels}[labels]
    return reader(y, rows, path, key)
