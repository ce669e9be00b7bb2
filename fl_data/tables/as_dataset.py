"""A table as a data set: which rows are for training, which column is predicted, and the encoding of the rest."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fl_data.dataset import DataError, Dataset
from fl_data.formats.labels import check_classes
from fl_data.formats.ways import Wanted
from fl_data.tables.encoding import Encoding, Number, learn_features
from fl_data.tables.values import as_numbers, as_texts, is_number, values_of
from fl_data.target import held_out_split

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

log = logging.getLogger("fedloom")
SPLIT = "split"
TEST_SHARE = 0.2
TEST_SEED = 0  # not the run's: runs with other seeds are tested on the same rows


@dataclass(frozen=True)
class Rows:
    """What is known of a table's rows before their features are looked at."""

    label: tuple[str, ...]
    classes: tuple[str, ...]
    y: np.ndarray
    test: np.ndarray  # a mask
    owners: np.ndarray | None  # the client of each row, by name
    leave_out: tuple[str, ...]  # columns that are no features

    def columns(self, wanted: Wanted) -> dict[str, np.ndarray]:
        """What a data set keeps of the training rows beside features and labels."""
        return {} if self.owners is None else {wanted.column: self.owners[~self.test]}


def survey(
    table: pa.Table,
    wanted: Wanted,
    name: str,
    test_rows: np.ndarray | None = None,
    classes: tuple[str, ...] | None = None,
) -> Rows:
    """Labels, clients, and which rows are for testing; see `encode`."""
    label = _label_columns(table, wanted, name)
    owners = _owners(table, wanted.column, label, name)
    leave_out = (*label, wanted.column) if wanted.column else label
    if test_rows is None:
        test_rows = _announced_split(table, leave_out, name)
        leave_out = leave_out if test_rows is None else (*leave_out, SPLIT)
    shell = wanted.encoding or Encoding((), label, wanted.labels, classes or _class_names(table, label, wanted, name))
    y = shell.targets(table)
    if y is None:
        raise DataError(f"{name} has no column {shell.label[0]!r}, which the given encoding predicts.")
    if test_rows is None:
        test_rows = _held_back(owners, y)
    if test_rows.all() and wanted.encoding is None:
        raise DataError(f"{name} has no training rows: its column {SPLIT!r} says test everywhere.")
    return Rows(label, shell.classes, y, test_rows, owners, leave_out)


def encode(
    table: pa.Table,
    wanted: Wanted,
    name: str,
    test_rows: np.ndarray | None = None,
    classes: tuple[str, ...] | None = None,
) -> Dataset:
    """The data set of a table. `test_rows` (a mask) and `classes` (in their order) are given where the source knows them.

    Without `test_rows`, a column `split` with the values train and test says which rows are for testing; without such a
    column a fifth of each client's rows is, or of all rows where no column names the clients, each class in proportion.
    """
    import pyarrow as pa

    rows = survey(table, wanted, name, test_rows, classes)
    train, test = table.filter(pa.array(~rows.test)), table.filter(pa.array(rows.test))
    encoding = wanted.encoding or _learn(train, rows, wanted, name)
    log.info(
        "%s: %d rows for training, %d for testing; %d features; %s.",
        name, train.num_rows, test.num_rows, len(encoding.feature_names), _told(encoding),
    )  # fmt: skip
    return Dataset(
        name, "features", encoding.apply(train), rows.y[~rows.test], encoding.apply(test), rows.y[rows.test],
        num_classes=0 if encoding.labels == "numbers" else len(encoding.classes),
        class_names=encoding.classes, mean=None, std=None, flips=False, labels=encoding.labels,
        columns=rows.columns(wanted), encoding=encoding,
    )  # fmt: skip


def _learn(train: pa.Table, rows: Rows, wanted: Wanted, name: str) -> Encoding:
    features, missing = learn_features(train, rows.leave_out)
    known = {column.name for column in features}
    empty = [column for column in missing if column not in known]
    if empty:
        log.warning("%s: the column %s has no value in any training row and is left out.", name, ", ".join(empty))
    numbers = {column.name for column in features if isinstance(column, Number)}
    for what, chosen in (("become the column's mean", numbers), ("count as no category", known - numbers)):
        gaps = [f"{column} ({count} rows)" for column, count in missing.items() if column in chosen]
        if gaps:
            log.warning("%s: missing values %s: %s.", name, what, ", ".join(gaps))
    if not features:
        raise DataError(f"{name} has no column left to learn from beside {', '.join(rows.leave_out)}.")
    return Encoding(features, rows.label, wanted.labels, rows.classes, standardise=wanted.normalise != "none")


def _label_columns(table: pa.Table, wanted: Wanted, name: str) -> tuple[str, ...]:
    if wanted.encoding is not None:
        return wanted.encoding.label
    if not wanted.label:
        raise DataError(f"{name} needs --label COLUMN, the column to predict; it has {', '.join(table.column_names)}.")
    # A name may have a comma of its own, so the whole text is tried first.
    columns = (
        (wanted.label,)
        if wanted.label in table.column_names
        else tuple(part.strip() for part in wanted.label.split(","))
    )
    absent = [column for column in columns if column not in table.column_names]
    if absent:
        raise DataError(f"{name} has no column {absent[0]!r} for --label; it has {', '.join(table.column_names)}.")
    if wanted.labels == "classes" and len(columns) > 1:
        raise DataError(
            f"--label {wanted.label!r} names {len(columns)} columns, but a classification predicts one: use --task multilabel "
            "for columns of 0 and 1, or --task regression for numbers."
        )
    return columns


def _class_names(table: pa.Table, label: tuple[str, ...], wanted: Wanted, name: str) -> tuple[str, ...]:
    """The classes in order: whole numbers by size, texts by the alphabet; for other tasks the names of the columns."""
    if wanted.labels != "classes":
        return label
    column, where = table[label[0]], f"The column {label[0]!r} of {name}"
    if is_number(column, label[0]):
        values = as_numbers(column, label[0])
        values = values[~np.isnan(values)]
        odd = values[values != np.rint(values)]
        if len(odd):
            raise DataError(
                f"{where} has values that are not whole numbers, such as {odd[0]:g}, and so no classes: use --task regression."
            )
        found = tuple(str(int(value)) for value in np.unique(values))
    else:
        found = values_of(as_texts(column, label[0]))
    check_classes(len(found), table.num_rows, where)
    if len(found) < 2:
        raise DataError(
            f"{where} has the value {', '.join(found) or 'nothing'} everywhere; two classes or more are needed."
        )
    return found


def _owners(table: pa.Table, column: str, label: tuple[str, ...], name: str) -> np.ndarray | None:
    if not column:
        return None
    if column not in table.column_names or column in label:
        why = "is the label" if column in label else f"is not among {', '.join(table.column_names)}"
        raise DataError(f"--partition column:{column}: the column {why} in {name}; name the column of the clients.")
    texts = as_texts(table[column], column)
    if texts.null_count:
        raise DataError(
            f"The column {column!r} of {name} names no client in {texts.null_count} rows; fill them or leave them out."
        )
    return np.array(texts.to_pylist(), dtype=str)


def _announced_split(table: pa.Table, leave_out: Sequence[str], name: str) -> np.ndarray | None:
    if SPLIT not in table.column_names or SPLIT in leave_out:
        return None
    given = [None if text is None else text.strip().lower() for text in as_texts(table[SPLIT], SPLIT).to_pylist()]
    words = set(given)
    if not words & {"train", "test"}:
        return None  # some other column that happens to have this name
    if not words <= {"train", "test"}:
        odd = sorted(map(str, words - {"train", "test"}))[0]
        raise DataError(
            f"The column {SPLIT!r} of {name} has the value {odd!r}; train and test were expected in every row."
        )
    return np.array([word == "test" for word in given])


def _held_back(owners: np.ndarray | None, y: np.ndarray) -> np.ndarray:
    """A mask of the test rows: a fifth of each client's, as a function of the rows alone."""
    groups = np.zeros(len(y), dtype=str) if owners is None else owners
    mask = np.zeros(len(y), dtype=bool)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        mask[held_out_split(rows, y, TEST_SHARE, TEST_SEED, f"test rows of {group}")[1]] = True
    return mask


def _told(encoding: Encoding) -> str:
    if encoding.labels == "classes":
        return (
            f"{len(encoding.classes)} classes in {encoding.label[0]!r}: "
            + ", ".join(encoding.classes[:10])
            + (", ..." if len(encoding.classes) > 10 else "")
        )
    return f"{'numbers' if encoding.labels == 'numbers' else 'classes'} to predict: {', '.join(encoding.label)}"
