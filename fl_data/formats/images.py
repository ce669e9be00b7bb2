"""Image files in folders: CINIC-10, Tiny ImageNet, ImageNet-100, HAM10000, and a user's own `folder:DIR`."""

from __future__ import annotations

import csv
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from fl_data.dataset import DataError, Dataset, Decoded, channel_statistics
from fl_data.formats.ways import Wanted, way

log = logging.getLogger("fedloom")
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}
Labelled = list[tuple[Path, int]]
Place = Path | IO[bytes]


def read_images(paths: Sequence[Place], side: int | None, channels: int = 3) -> np.ndarray:
    """Decoded images [n, C, H, W]; with `side`, the shorter edge is scaled to it and the middle cut out."""
    from PIL import Image, ImageOps

    out: np.ndarray | None = None
    for row, path in enumerate(paths):
        try:
            with Image.open(path) as opened:
                image = opened.convert("RGB" if channels == 3 else "L")
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not a readable image ({error}).") from error
        if side is not None and image.size != (side, side):
            image = ImageOps.fit(image, (side, side), method=Image.Resampling.BILINEAR)
        pixels = np.asarray(image).reshape(image.height, image.width, channels)
        if out is None:
            out = np.empty((len(paths), channels, image.height, image.width), dtype=np.uint8)
        if pixels.shape[:2] != out.shape[2:]:
            raise DataError(
                f"{path} has {image.width}x{image.height} pixels where the first image has {out.shape[2:]}."
            )
        out[row] = pixels.transpose(2, 0, 1)
    return np.empty((0, channels, side or 1, side or 1), dtype=np.uint8) if out is None else out


def list_classes(folder: Path) -> tuple[str, ...]:
    """The sub-folders that hold images, in order of name."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; one folder per class was expected in it.")
    names = tuple(sorted(item.name for item in folder.iterdir() if item.is_dir() and not item.name.startswith(".")))
    if not names:
        raise DataError(f"{folder} has no class folders; put the images of each class in a folder of its own.")
    return names


def list_images(folder: Path, classes: Sequence[str], inside: str = "") -> Labelled:
    """Every image of the class folders with its label, in order of class and file name."""
    found: Labelled = []
    for label, name in enumerate(classes):
        place = folder / name / inside if inside else folder / name
        files = sorted(place.rglob("*")) if place.is_dir() else []
        found += [(path, label) for path in files if path.suffix.lower() in SUFFIXES and path.is_file()]
    return found


def _decode(train: Labelled, test: Labelled, classes: Sequence[str], side: int | None, channels: int = 3) -> Decoded:
    halves = []
    for pairs in (train, test):
        halves.append(read_images([path for path, _ in pairs], side, channels))
        halves.append(np.array([label for _, label in pairs], dtype=np.int64))
    return Decoded(halves[0], halves[1], halves[2], halves[3], tuple(classes))


def read_split_folders(folder: Path, side: int, train: str = "train", test: str = "test") -> Decoded:
    """`train/CLASS/*.png` and `test/CLASS/*.png` (CINIC-10; its third part, `valid`, is left out as the papers do)."""
    classes = list_classes(folder / train)
    return _decode(list_images(folder / train, classes), list_images(folder / test, classes), classes, side)


def read_imagenet100(folder: Path, side: int = 64) -> Decoded:
    """ImageNet-100: `train/WNID` (or the four parts `train.X1`..) and `val/WNID` (or `val.X`), scaled to `side`."""
    parts = [folder / "train"] if (folder / "train").is_dir() else sorted(folder.glob("train.X*"))
    val = next((folder / name for name in ("val", "val.X") if (folder / name).is_dir()), None)
    if not parts or val is None:
        raise DataError(f"{folder} has no train (or train.X1..) and val (or val.X) folders of ImageNet-100.")
    classes = tuple(sorted({name for part in parts for name in list_classes(part)}))
    train = [pair for part in parts for pair in list_images(part, classes)]
    return _decode(sorted(train, key=lambda pair: (pair[1], pair[0].name)), list_images(val, classes), classes, side)


def read_tiny_imagenet(folder: Path) -> Decoded:
    """`tiny-imagenet-200`: class folders for training; the labelled `val` part is the test set."""
    annotations, ids = folder / "val" / "val_annotations.txt", folder / "wnids.txt"
    if not annotations.is_file() or not ids.is_file():
        raise DataError(f"{folder} has no wnids.txt and val/val_annotations.txt of Tiny ImageNet.")
    classes = tuple(sorted(ids.read_text().split()))
    number = {name: label for label, name in enumerate(classes)}
    test: Labelled = []
    for line in annotations.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) < 2 or fields[1] not in number:
            raise DataError(f"{annotations} has the line {line!r}, not a file name and a class of wnids.txt.")
        test.append((folder / "val" / "images" / fields[0], number[fields[1]]))
    return _decode(list_images(folder / "train", classes, "images"), test, classes, 64)


def read_ham10000(folder: Path, side: int = 64) -> Decoded:
    """HAM10000: `HAM10000_metadata.csv` and the images beside it; a fifth of the lesions is the test set.

    No labelled test set was published. Lesions, not images, are divided: two pictures of one lesion never sit on both sides.
    """
    metadata = next(
        (folder / n for n in ("HAM10000_metadata.csv", "HAM10000_metadata") if (folder / n).is_file()), None
    )
    if metadata is None:
        raise DataError(f"{folder} has no HAM10000_metadata.csv.")
    with metadata.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or not {"lesion_id", "image_id", "dx"} <= set(rows[0]):
        raise DataError(f"{metadata} has no columns lesion_id, image_id and dx.")
    files = {path.stem: path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES}
    classes = tuple(sorted({row["dx"] for row in rows}))
    halves: dict[bool, Labelled] = {True: [], False: []}
    for row in sorted(rows, key=lambda item: item["image_id"]):
        if row["image_id"] not in files:
            raise DataError(f"{folder} has no image {row['image_id']}, which {metadata.name} lists.")
        held = hashlib.sha256(row["lesion_id"].encode()).digest()[0] < 51
        halves[held].append((files[row["image_id"]], classes.index(row["dx"])))
    return _decode(halves[False], halves[True], classes, side)


@way("folder:DIR", "images, one folder per class, also as DIR/train/CLASS and DIR/test/CLASS", place="folder")
def open_folder(folder: Path, wanted: Wanted) -> Dataset:
    decoded = read_folder(folder)
    mean, std = channel_statistics(decoded.x_train)
    # Whether a user's images may be mirrored is not known: text and sides of a body may not.
    return Dataset(
        f"folder:{folder}", "image", decoded.x_train, decoded.y_train, decoded.x_test, decoded.y_test,
        num_classes=len(decoded.class_names),
        class_names=decoded.class_names, mean=mean, std=std, flips=False,
    )  # fmt: skip


def read_folder(folder: Path) -> Decoded:
    """A user's images: `DIR/train/CLASS` and `DIR/test/CLASS`, or `DIR/CLASS`, of which every fifth image is for testing."""
    if not folder.is_dir():
        raise DataError(f"folder:{folder} does not exist; give a folder with one folder of images per class.")
    if (folder / "train").is_dir() and (folder / "test").is_dir():
        classes = list_classes(folder / "train")
        unknown = sorted(set(list_classes(folder / "test")) - set(classes))
        if unknown:
            raise DataError(f"{folder / 'test'} has the class {unknown[0]!r}, which {folder / 'train'} has not.")
        train, test = list_images(folder / "train", classes), list_images(folder / "test", classes)
    else:
        classes = list_classes(folder)
        train, test = [], []
        for label in range(len(classes)):
            files = [path for path, _ in list_images(folder, [classes[label]])]
            for row, path in enumerate(files):
                (test if row % 5 == 4 else train).append((path, label))
    empty = [name for label, name in enumerate(classes) if not any(pair[1] == label for pair in train)]
    if len(empty) == len(classes):
        raise DataError(f"{folder} has no image for any of its {len(classes)} classes.")
    if empty:  # on a host of a federation that is as it should be; the folder keeps the others' numbers right
        log.warning("%s has no image for the class %r (%d such classes).", folder, empty[0], len(empty))
    sizes, modes = survey_images([path for path, _ in train + test])
    if len(sizes) > 1:
        log.warning("%s has images of %d sizes; all are scaled to 64x64.", folder, len(sizes))
    return _decode(train, test, classes, 64 if len(sizes) > 1 else None, 1 if modes <= {"L", "1"} else 3)


def survey_images(paths: Sequence[Place]) -> tuple[set[tuple[int, int]], set[str]]:
    """The sizes and the modes that occur."""
    from PIL import Image

    sizes: set[tuple[int, int]] = set()
    modes: set[str] = set()
    for path in paths:
        try:
            with Image.open(path) as image:
                sizes.add(image.size)
                modes.add(image.mode)
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not a readable image ({error}).") from error
    return sizes, modes
