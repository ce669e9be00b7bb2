"""New samples for a model that is already there: files, arrays and tables, brought into the form of the training samples.

    csv:FILE, parquet:FILE   a table with the columns of the run's own, whose encoding is applied; for a run that learned from no
                             table, one column per number of a sample, in order, and perhaps a column `label`; for one that
                             learned from texts, one column of texts
    npz:FILE                 the array x (or x_test), and perhaps y (or y_test)
    folder:DIR               images, in one folder per class or all in one
Labels are optional everywhere. A category that training did not meet is 0 everywhere, as it was for the test rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fl_config.errors import nearest
from fl_data.dataset import DataError
from fl_data.formats.data_card import DataCard
from fl_data.formats.images import SUFFIXES, list_classes, list_images, read_images
from fl_data.formats.labels import read_labels
from fl_data.formats.npz import arrange, open_npz
from fl_data.formats.text import encode_new

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

FORMS = {"csv": "csv:FILE", "parquet": "parquet:FILE", "npz": "npz:FILE", "folder": "folder:DIR"}
LABEL = "label"  # the column of classes in a table of plain numbers


@dataclass(frozen=True)
class NewSamples:
    x: np.ndarray
    y: np.ndarray | None = None
    names: tuple[str, ...] = ()  # of the files that the samples are from

    def __len__(self) -> int:
        return len(self.x)


def check_samples_spec(spec: str) -> None:
    """Raise a sentence unless the spec has a known form and names something that exists."""
    form, colon, place = spec.partition(":")
    if form not in FORMS or not colon:
        forms = ", ".join(FORMS.values())
        raise DataError(f"{spec!r} does not say what to predict{nearest(form, FORMS)} Give one of {forms}.")
    path = Path(place).expanduser()
    if not place or not (path.is_dir() if form == "folder" else path.is_file()):
        raise DataError(f"{spec!r} names no {'folder' if form == 'folder' else 'file'} that exists.")


def read_samples(spec: str, card: DataCard) -> NewSamples:
    """The samples of a spec, for a model that learned from data as on the card."""
    check_samples_spec(spec)
    form, _, place = spec.partition(":")
    path = Path(place).expanduser()
    if form == "npz":
        return _of_npz(path, card)
    if form == "folder":
        return _of_folder(path, card)
    from fl_data.tables import read

    return of_table(read(path, form), card, spec)


def of_array(x: Any, card: DataCard) -> NewSamples:
    """Samples from memory: as in an npz file, or a DataFrame as a table file."""
    if type(x).__module__.partition(".")[0] == "pandas" and hasattr(x, "columns"):
        import pyarrow as pa

        try:
            return of_table(pa.Table.from_pandas(x, preserve_index=False), card, "the frame")
        except pa.ArrowException as error:
            raise DataError(f"The frame cannot be read as a table ({error}).") from error
    given = np.asarray(x)
    if given.shape == card.shape:
        raise DataError(f"The array has the shape of one sample, {given.shape}: give rows of samples, x[None] for one.")
    return NewSamples(_checked(given, Path("The array"), "x", card))


# Tables


def of_table(table: pa.Table, card: DataCard, spec: str) -> NewSamples:
    if card.encoding is None:
        return _of_plain_numbers(table, card, spec)
    missing = [column.name for column in card.encoding.features if column.name not in table.column_names]
    if missing:
        near = nearest(missing[0], table.column_names)
        raise DataError(
            f"{spec} lacks the column {missing[0]!r}, from which the run has learned{near} "
            f"It has {_some(table.column_names)}; the run needs {_some([each.name for each in card.encoding.features])}."
        )
    known = set(card.encoding.label) <= set(table.column_names)
    # Rows whose label is still to be found out have an empty field there.
    if known and any(table[column].null_count for column in card.encoding.label):
        known = False
    return NewSamples(card.encoding.apply(table), card.encoding.targets(table) if known else None)


def _of_plain_numbers(table: pa.Table, card: DataCard, spec: str) -> NewSamples:
    from fl_data.tables.values import as_numbers, as_texts

    columns = [name for name in table.column_names if name != LABEL]
    labels = _named_classes(table, card, spec) if LABEL in table.column_names else None
    if card.words and len(columns) == 1:
        texts = as_texts(table[columns[0]], columns[0]).to_pylist()
        return NewSamples(encode_new([text or "" for text in texts], card.words, card.shape[0]), labels)
    wanted = math.prod(card.shape)
    if len(columns) != wanted:
        raise DataError(
            f"{spec} has {len(columns)} columns beside {LABEL!r}, but a sample of {card.name} has {wanted} numbers (shape {card.shape}): "
            "give one column per number in that order, or npz:FILE."
        )
    rows = np.stack([as_numbers(table[name], name) for name in columns], axis=1)
    if np.isnan(rows).any():
        raise DataError(f"{spec} has rows in which a number is missing; leave them out.")
    x = rows.reshape(-1, *card.shape).astype(np.float32)
    if card.kind != "features":
        top = 255 if card.kind == "image" else card.vocabulary - 1
        if ((rows != np.rint(rows)) | (rows < 0) | (rows > top)).any():
            what = "pixels" if card.kind == "image" else "numbers of words"
            raise DataError(f"{spec} has values that are no {what}: whole numbers from 0 to {top} are expected.")
        x = x.astype(np.uint8 if card.kind == "image" else np.int32)
    return NewSamples(x, labels)


def _named_classes(table: pa.Table, card: DataCard, spec: str) -> np.ndarray | None:
    from fl_data.tables.values import as_texts, positions

    if card.labels != "classes" or table[LABEL].null_count:
        return None
    chosen = positions(as_texts(table[LABEL], LABEL), card.class_names)
    if chosen.min() < 0:
        stranger = as_texts(table[LABEL], LABEL)[int(chosen.argmin())].as_py()
        raise DataError(f"{spec} has the label {stranger!r}{nearest(str(stranger), card.class_names)}")
    return chosen


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


# Arrays


def _of_npz(path: Path, card: DataCard) -> NewSamples:
    content = open_npz(path)
    x_key, y_key = ("x_test", "y_test") if "x_test" in content else ("x", "y")
    if x_key not in content:
        raise DataError(f"{path} has neither x_test nor x (it has {', '.join(sorted(content)) or 'nothing'}).")
    x = _checked(content[x_key], path, x_key, card)
    if y_key not in content:
        return NewSamples(x)
    y = read_labels(content[y_key], len(x), path, y_key, card.labels)
    if card.labels == "classes":
        return NewSamples(x, _as_classes(y, card, path))
    if y.shape[1:] != card.label_shape:
        raise DataError(
            f"{path} has {y_key} of shape {y.shape}, but {card.name} has labels of shape {card.label_shape} per sample."
        )
    return NewSamples(x, y)


def _checked(given: np.ndarray, path: Path, key: str, card: DataCard) -> np.ndarray:
    kind, x = arrange(given, path, key)
    if kind != card.kind or x.shape[1:] != card.shape:
        raise DataError(
            f"{path} has {kind} of shape {x.shape[1:]}, but {card.name} has {card.kind} of shape {card.shape}"
            + (" (images are uint8)." if card.kind == "image" and kind == "features" else ".")
        )
    if not len(x):
        raise DataError(f"{path} has no samples in {key}.")
    if kind == "tokens" and int(x.max()) >= card.vocabulary:
        raise DataError(f"{path} has the token {x.max()}, but {card.name} has {card.vocabulary} tokens.")
    return x


def _as_classes(labels: np.ndarray, card: DataCard, path: Path) -> np.ndarray:
    """Class numbers; the labels of a renumbered npz dataset are translated by the names it kept."""
    if card.name.startswith("npz:"):
        number = {int(name): place for place, name in enumerate(card.class_names)}
    else:
        number = {place: place for place in range(card.num_classes)}
    unknown = sorted(set(labels.tolist()) - set(number))
    if unknown:
        raise DataError(f"{path} has the label {unknown[0]}, which is none of the {card.num_classes} of {card.name}.")
    return np.array([number[label] for label in labels.tolist()], dtype=np.int64)


# Images


def _of_folder(folder: Path, card: DataCard) -> NewSamples:
    if card.kind != "image":
        raise DataError(f"folder:{folder} holds images, but {card.name} has {card.kind}: give {FORMS['npz']}.")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    labels = None
    if not files:
        classes = list_classes(folder)
        strangers = [name for name in classes if name not in card.class_names]
        if strangers:
            raise DataError(
                f"folder:{folder} has the class {strangers[0]!r}{nearest(strangers[0], card.class_names)} "
                "Images whose class is not known lie in the folder itself."
            )
        pairs = list_images(folder, classes)
        files = [file for file, _ in pairs]
        if card.labels == "classes":
            labels = np.array([card.class_names.index(classes[label]) for _, label in pairs], dtype=np.int64)
    if not files:
        raise DataError(f"folder:{folder} has no images.")
    channels, height, width = card.shape
    x = read_images(files, height if height == width else None, channels)
    if x.shape[1:] != card.shape:
        raise DataError(f"folder:{folder} has images of shape {x.shape[1:]}, but {card.name} has {card.shape}.")
    return NewSamples(x, labels, tuple(file.relative_to(folder).as_posix() for file in files))
