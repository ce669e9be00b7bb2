"""The way in `hf:PATH`: a Hugging Face data set on this machine, with images, with texts, or as a table.

PATH is what `datasets.save_to_disk` wrote, or a folder or file that `datasets.load_dataset` reads; nothing is downloaded. The
split `train` is for training; `test`, else `validation`, for testing; without either a fifth of the rows is for testing.
One column of images makes images, a single column of text beside the label makes texts, and anything else is a table.
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fl_data.dataset import DataError, Dataset, channel_statistics
from fl_data.formats.images import read_images, survey_images
from fl_data.formats.text import tokenise
from fl_data.formats.ways import Wanted, way

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

    from fl_data.tables.as_dataset import Rows

log = logging.getLogger("fedloom")
WORDS = 200  # of a text
_TEST_SPLITS = ("test", "validation", "valid", "val")
_FILES = {".csv": "from_csv", ".parquet": "from_parquet", ".json": "from_json", ".jsonl": "from_json"}


@way(
    "hf:PATH",
    "a Hugging Face data set on disk: images, texts or a table",
    place="file or folder",
    label="optional",
    columns=True,
    targets=("classes", "numbers", "many"),
)
def read_hub(path: Path, wanted: Wanted) -> Dataset:
    name = f"hf:{path}"
    with tempfile.TemporaryDirectory(prefix="fedloom-hf-") as scratch:
        halves = _halves(_open(path, Path(scratch)), name)
        wanted = wanted if wanted.label or wanted.encoding else replace(wanted, label=_usual_label(halves[0], name))
        return _dataset(halves, wanted, name)


def _open(path: Path, scratch: Path) -> Mapping[str, Any]:
    """The splits by name."""
    import datasets  # type: ignore[import-untyped]

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        if any((path / file).is_file() for file in ("dataset_dict.json", "dataset_info.json", "state.json")):
            content = datasets.load_from_disk(str(path))
        elif path.is_file() and path.suffix not in _FILES:
            raise DataError(f"hf:{path} is no folder and ends in none of {', '.join(_FILES)}.")
        elif path.is_file():
            # load_dataset would count the use of its reader at a public server, which is none of its business.
            content = getattr(datasets.Dataset, _FILES[path.suffix])(str(path), cache_dir=str(scratch))
        else:
            content = datasets.load_dataset(str(path), cache_dir=str(scratch))
    except DataError:
        raise
    # The library raises errors of many kinds about a folder that it cannot read, of which these are the bases.
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"hf:{path} cannot be read as a Hugging Face data set ({error}).") from error
    finally:
        if shown:
            datasets.enable_progress_bars()
    return dict(content) if isinstance(content, dict) else {"train": content}


def _halves(splits: Mapping[str, Any], name: str) -> list[Any]:
    """The training split, and the split for testing where there is one."""
    if "train" not in splits and len(splits) > 1:
        raise DataError(f"{name} has the splits {', '.join(splits)}, but none is called train.")
    train = "train" if "train" in splits else next(iter(splits))
    test = next((split for split in _TEST_SPLITS if split in splits and split != train), None)
    unused = [split for split in splits if split not in (train, test)]
    if unused:
        log.info("%s: the splits %s are not used.", name, ", ".join(unused))
    return [splits[train], *([] if test is None else [splits[test]])]


def _usual_label(split: Any, name: str) -> str:
    """The one column of classes, or the one called label."""
    named = [column for column, kind in split.features.items() if hasattr(kind, "names")]
    usual = [column for column in ("label", "labels") if column in split.features]
    if len(named) == 1 or usual:
        return str((named if len(named) == 1 else usual)[0])
    raise DataError(f"{name} needs --label COLUMN, the column to predict; it has {', '.join(split.features)}.")


def _dataset(halves: Sequence[Any], wanted: Wanted, name: str) -> Dataset:
    from fl_data.tables import encode, survey

    features = halves[0].features
    images = [column for column, kind in features.items() if type(kind).__name__ == "Image"]
    if len(images) > 1:
        raise DataError(
            f"{name} has the image columns {', '.join(images)}, but a sample is one image; take the others out."
        )
    table, classes = _table(halves, wanted, images)
    announced = None
    if len(halves) > 1:
        announced = np.repeat([False, True], [len(halves[0]), len(halves[1])])
    if images:
        rows = survey(table, wanted, name, announced, classes)
        return _image_dataset([file for half in halves for file in _files(half, images[0], name)], rows, wanted, name)
    beside = [column for column in features if column not in (*wanted.label.split(","), wanted.column)]
    if len(beside) == 1 and getattr(features[beside[0]], "dtype", "") in ("string", "large_string"):
        rows = survey(table, wanted, name, announced, classes)
        return _text_dataset(table[beside[0]].to_pylist(), rows, wanted, name)
    return encode(table, wanted, name, announced, classes)


def _table(halves: Sequence[Any], wanted: Wanted, leave_out: Sequence[str]) -> tuple[pa.Table, tuple[str, ...] | None]:
    """Both halves as one table; a label column of numbered classes gets their names, which are returned in order."""
    import pyarrow as pa

    tables = [half.remove_columns(list(leave_out)).with_format("arrow")[:] for half in halves]
    table = pa.concat_tables(tables, promote_options="default")
    names = getattr(halves[0].features.get(wanted.label), "names", None)
    if names is None or wanted.labels != "classes":
        return table, None
    numbers = table[wanted.label].to_pylist()
    texts = [None if number is None or number < 0 else names[number] for number in numbers]
    place = table.column_names.index(wanted.label)
    return table.set_column(place, wanted.label, pa.array(texts, pa.string())), tuple(names)


def _files(half: Any, column: str, name: str) -> list[io.BytesIO]:
    import datasets

    files = []
    for row, content in enumerate(half.cast_column(column, datasets.Image(decode=False))[column]):
        if content is None:
            raise DataError(f"{name} has no image in row {row}; leave such rows out.")
        files.append(io.BytesIO(content["bytes"] or Path(content["path"]).read_bytes()))
    return files


def _image_dataset(files: list[io.BytesIO], rows: Rows, wanted: Wanted, name: str) -> Dataset:
    sizes, modes = survey_images(files)
    if len(sizes) > 1:
        log.warning("%s has images of %d sizes; all are scaled to 64x64.", name, len(sizes))
    x = read_images(files, 64 if len(sizes) > 1 else None, 1 if modes <= {"L", "1"} else 3)
    mean, std = channel_statistics(x[~rows.test])
    return Dataset(
        name, "image", x[~rows.test], rows.y[~rows.test], x[rows.test], rows.y[rows.test],
        num_classes=0 if wanted.labels == "numbers" else len(rows.classes), class_names=rows.classes,
        mean=mean, std=std, flips=False, labels=wanted.labels, columns=rows.columns(wanted),
    )  # fmt: skip


def _text_dataset(texts: list[str | None], rows: Rows, wanted: Wanted, name: str) -> Dataset:
    halves = [[(texts[row] or "", 0) for row in np.flatnonzero(mask)] for mask in (~rows.test, rows.test)]
    tokens = tokenise(halves[0], halves[1], rows.classes, WORDS)
    return Dataset(
        name, "tokens", tokens.x_train, rows.y[~rows.test], tokens.x_test, rows.y[rows.test],
        num_classes=0 if wanted.labels == "numbers" else len(rows.classes), class_names=rows.classes, mean=None, std=None,
        flips=False, vocabulary=tokens.vocabulary, words=tokens.words, labels=wanted.labels, columns=rows.columns(wanted),
    )  # fmt: skip
