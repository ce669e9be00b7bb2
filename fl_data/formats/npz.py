"""A user's own arrays in an npz file: which kind of data they are, and labels numbered from 0."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import numpy as np

from fl_data.dataset import DataError, Dataset, Kind, channel_statistics
from fl_data.formats.labels import check_classes, read_labels, whole_labels
from fl_data.formats.ways import Wanted, way

Channels = tuple[float, ...]
log = logging.getLogger("fedloom")
KEYS = ("x_train", "y_train", "x_test", "y_test")


def open_npz(path: Path) -> dict[str, np.ndarray]:
    """Every array of an npz file; objects are refused."""
    if not path.is_file():
        raise DataError(f"npz:{path} does not exist; give a file written with numpy.savez.")
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            raise DataError(f"{path} is a single array, not an npz file; write it with numpy.savez(FILE, x_train=...).")
        with content:
            return {key: content[key] for key in content.files}
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not a readable npz file of plain arrays ({error}).") from error


def arrange(x: np.ndarray, path: Path, key: str) -> tuple[Kind, np.ndarray]:
    """The kind of the samples and their standard form: images [n, C, H, W], float32 features, int32 tokens."""
    if x.ndim < 2:
        raise DataError(f"{path} has {key} of shape {x.shape}; one row per sample was expected.")
    if x.dtype == np.uint8 and x.ndim > 2:
        return "image", _channels_first(x, path, key)
    if x.dtype == np.uint8:
        return "features", x.astype(np.float32) / np.float32(255)
    if np.issubdtype(x.dtype, np.floating):
        features = x.astype(np.float32)
        if not np.isfinite(features).all():
            raise DataError(f"{path} has NaN or infinite values in {key}; clean them before training.")
        return "features", features
    if np.issubdtype(x.dtype, np.integer) and x.ndim == 2:
        if x.size and (x.min() < 0 or x.max() >= 2**31):
            raise DataError(f"{path} has token ids {x.min()}..{x.max()} in {key}; they must be 0 (padding) or more.")
        return "tokens", x.astype(np.int32)
    raise DataError(
        f"{path} has {key} of type {x.dtype} and shape {x.shape}; expected uint8 images, float features or integer token rows."
    )


def _channels_first(x: np.ndarray, path: Path, key: str) -> np.ndarray:
    if x.ndim == 3:
        return x[:, None]
    if x.ndim == 4 and x.shape[1] in (1, 3, 4):
        return x
    if x.ndim == 4 and x.shape[3] in (1, 3, 4):
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    raise DataError(f"{path} has images of shape {x.shape} in {key}; expected [n, H, W], [n, C, H, W] or [n, H, W, C].")


@way(
    "npz:FILE",
    "arrays x_train, y_train, x_test, y_test written with numpy.savez",
    columns=True,
    targets=("classes", "numbers", "many"),
)
def read_npz(path: Path, wanted: Wanted = Wanted()) -> Dataset:  # noqa: B008 (frozen)
    """The dataset of `npz:FILE`; labels other than 0..C-1 are renumbered in sorted order, the old ones are the names.

    A site that has not seen every class adds the scalar `num_classes` to its file; its labels then keep their numbers.
    Images are normalised by the file's own `mean` and `std` per channel where it has them, so that sites can agree on them.
    A server's file, on which nobody trains, may have x_test and y_test alone, or training arrays that are empty. A further array
    with one value per training sample may name the clients (`--partition column:NAME`).
    """
    content = open_npz(path)
    training = [content[key] for key in ("x_train", "y_train") if key in content]
    nobody_trains = not training or (
        all(not part.size for part in training) and content.get("x_test", training[0]).size
    )
    for_evaluation = "x_test" in content and nobody_trains
    if for_evaluation:
        content |= {"x_train": content["x_test"][:0], "y_train": content.get("y_test", np.zeros(0, int))[:0]}
    missing = [key for key in KEYS if key not in content]
    if missing:
        raise DataError(
            f"{path} has no {', '.join(missing)} (it has {', '.join(sorted(content)) or 'nothing'}); "
            "x_train, y_train, x_test and y_test are expected, the test arrays may be empty."
        )
    kind, x_train = arrange(content["x_train"], path, "x_train")
    y_train = read_labels(content["y_train"], len(x_train), path, "y_train", wanted.labels)
    if not len(content["x_test"] if for_evaluation else x_train):
        raise DataError(f"{path} has no {'test' if for_evaluation else 'training'} samples.")
    x_test, y_test = content["x_test"], content["y_test"]
    if len(x_test):
        test_kind, x_test = arrange(x_test, path, "x_test")
        if test_kind != kind or x_test.shape[1:] != x_train.shape[1:]:
            raise DataError(
                f"{path} trains on {kind} of shape {x_train.shape[1:]} but tests on {test_kind} of shape {x_test.shape[1:]}."
            )
    else:
        x_test = np.empty((0, *x_train.shape[1:]), dtype=x_train.dtype)
        # Whatever the shape of no labels is, they go with the training labels.
        y_test = y_test if len(y_test) or wanted.labels == "classes" else y_train[:0]
    y_test = read_labels(y_test, len(x_test), path, "y_test", wanted.labels)
    names, y_train, y_test = _named(y_train, y_test, content.get("num_classes"), path, wanted)
    mean, std = _statistics(content, x_test if for_evaluation else x_train, path) if kind == "image" else (None, None)
    vocabulary = int(max(x_train.max(initial=0), x_test.max(initial=0))) + 1 if kind == "tokens" else 0
    return Dataset(
        f"npz:{path}", kind, x_train, y_train, x_test, y_test,
        0 if wanted.labels == "numbers" else len(names), names, mean, std, flips=False, vocabulary=vocabulary,
        labels=wanted.labels, columns=_columns(content, len(x_train), path, wanted.column),
    )  # fmt: skip


def _columns(content: dict[str, np.ndarray], rows: int, path: Path, column: str) -> dict[str, np.ndarray]:
    if not column:
        return {}
    if column not in content or content[column].shape != (rows,):
        raise DataError(
            f"{path} has no array {column!r} with one value for each of its {rows} training samples "
            f"(it has {', '.join(sorted(content))})."
        )
    return {column: content[column].astype(str)}


def _named(
    y_train: np.ndarray, y_test: np.ndarray, announced: np.ndarray | None, path: Path, wanted: Wanted
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The names of the classes (or numbers) and the labels, which are class numbers from 0 on where there are classes."""
    if wanted.labels == "classes":
        return _number(y_train, y_test, announced, path)
    if y_train.shape[1:] != y_test.shape[1:]:
        raise DataError(f"{path} has y_train of shape {y_train.shape} but y_test of shape {y_test.shape}.")
    count = 1 if y_train.ndim == 1 else y_train.shape[1]
    return tuple(map(str, range(count))), y_train, y_test


def _statistics(content: dict[str, np.ndarray], images: np.ndarray, path: Path) -> tuple[Channels, Channels]:
    if not content.keys() & {"mean", "std"}:
        return channel_statistics(images)
    found: list[Channels] = []
    for key in ("mean", "std"):
        given = content.get(key)
        if (
            given is None
            or given.shape != images.shape[1:2]
            or not np.isfinite(given).all()
            or (key == "std" and (given <= 0).any())
        ):
            raise DataError(
                f"{path} needs one finite {key} a channel (in units of 0..1, std above 0) beside the other."
            )
        found.append(tuple(float(value) for value in given))
    return found[0], found[1]


def _number(
    y_train: np.ndarray, y_test: np.ndarray, announced: np.ndarray | None, path: Path
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    values = np.unique(np.concatenate([y_train, y_test]))
    if announced is not None:
        classes = int(whole_labels(announced.reshape(-1), 1, path, "num_classes")[0])
        if values[0] < 0 or values[-1] >= classes:
            raise DataError(f"{path} has labels {values[0]}..{values[-1]} but announces num_classes={classes}.")
        return tuple(map(str, range(classes))), y_train, y_test
    check_classes(len(values), len(y_train) + len(y_test), f"{path}: y_train")
    if not np.array_equal(values, np.arange(len(values))):
        log.warning(
            "%s has the labels %s; they are renumbered 0..%d in that order (add num_classes to the file to keep them).",
            path, ", ".join(map(str, values[:10])) + (", ..." if len(values) > 10 else ""), len(values) - 1,
        )  # fmt: skip
        y_train, y_test = np.searchsorted(values, y_train), np.searchsorted(values, y_test)
    return tuple(str(value) for value in values), y_train.astype(np.int64), y_test.astype(np.int64)
