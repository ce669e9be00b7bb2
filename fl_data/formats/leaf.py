"""FEMNIST as LEAF writes it: JSON files of users, each with rows of 784 floats (white is 1) and labels 0..61."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Decoded


def read_femnist(folder: Path, class_names: tuple[str, ...]) -> Decoded:
    """`train/*.json` and `test/*.json`; the writers' training rows are kept for a partition by writer."""
    x_train, y_train, writers = _read_split(folder / "train", len(class_names))
    x_test, y_test, _ = _read_split(folder / "test", len(class_names))
    return Decoded(x_train, y_train, x_test, y_test, class_names, writers=writers)


def _read_split(folder: Path, num_classes: int) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DataError(f"{folder} has no JSON files of LEAF's FEMNIST.")
    images, labels = [], []
    writers: list[list[int]] = []
    seen = 0
    for path in files:
        try:
            content = json.loads(path.read_text())
            for user in content["users"]:
                data = content["user_data"][user]
                # Rounded to bytes at once: as Python floats the whole set would need gigabytes.
                pixels = np.asarray(data["x"], dtype=np.float32).reshape(-1, 1, 28, 28)
                images.append(np.rint(pixels * 255).clip(0, 255).astype(np.uint8))
                labels.append(np.asarray(data["y"], dtype=np.int64))
                if len(images[-1]) != len(labels[-1]):
                    raise ValueError(f"user {user} has {len(images[-1])} images and {len(labels[-1])} labels")
                writers.append(list(range(seen, seen + len(labels[-1]))))
                seen += len(labels[-1])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not in LEAF's format ({error}).") from error
    y = np.concatenate(labels)
    if y.size and (y.min() < 0 or y.max() >= num_classes):
        raise DataError(f"{folder} has labels {y.min()}..{y.max()} where FEMNIST has 0..{num_classes - 1}.")
    return np.concatenate(images), y, writers
