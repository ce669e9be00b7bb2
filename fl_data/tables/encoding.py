"""How a row of a table becomes features and a label: learned once from the training rows, kept, and applied to new rows.

    number    (x - mean) / deviation of the training rows; a missing number counts as the mean
    category  one 0/1 feature per value that the training rows have; an unknown or missing value is 0 everywhere
Means, deviations and categories are of the features alone: no label is looked at. An encoding is written to the run folder as
JSON, so that predictions, and other sites, treat a new table as the run treated its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fl_data.dataset import DataError, Labels
from fl_data.tables.values import as_numbers, as_texts, is_number, positions, values_of

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

VERSION = 1
MOST_CATEGORIES = 1000
NAMES_ALLOWED = 50  # more values than this, and more than half as many as rows, are names of rows and not categories


@dataclass(frozen=True)
class Number:
    """A column of numbers, which becomes one feature."""

    name: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Category:
    """A column of texts or truth values, which becomes one feature per value."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Encoding:
    """All that is needed to turn rows into features and labels."""

    features: tuple[Number | Category, ...]
    label: tuple[str, ...]  # the column to predict; several for numbers and many
    labels: Labels
    classes: tuple[str, ...]  # for `classes` the values of the label column in order; else the label columns
    standardise: bool = True  # False: numbers stay as they are, and only missing ones become the mean

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature: the column, or the column and the value."""
        names: list[str] = []
        for column in self.features:
            names += [column.name] if isinstance(column, Number) else [f"{column.name}={v}" for v in column.values]
        return tuple(names)

    def apply(self, table: pa.Table) -> np.ndarray:
        """The features of a table's rows, float32 [n, features]; columns that are not features are not looked at."""
        x = np.zeros((table.num_rows, len(self.feature_names)), dtype=np.float32)
        place = 0
        for column in self.features:
            found = _column(table, column.name)
            if isinstance(column, Number):
                x[:, place] = self._number(as_numbers(found, column.name), column)
                place += 1
            else:
                chosen = positions(as_texts(found, column.name), column.values)
                rows = np.flatnonzero(chosen >= 0)
                x[rows, place + chosen[rows]] = 1.0
                place += len(column.values)
        return x

    def _number(self, values: np.ndarray, column: Number) -> np.ndarray:
        filled = np.where(np.isnan(values), column.mean, values)
        return (filled - column.mean) / column.deviation if self.standardise else filled

    def targets(self, table: pa.Table) -> np.ndarray | None:
        """The labels of a table's rows, or None where the table has no label column."""
        if not set(self.label) <= set(table.column_names):
            return None
        if self.labels == "classes":
            texts = as_texts(table[self.label[0]], self.label[0])
            chosen = positions(texts, self.classes)
            if len(chosen) and chosen.min() < 0:
                stranger = texts[int(chosen.argmin())].as_py()
                given = "a row has no value" if stranger is None else f"there is the value {stranger!r}"
                raise DataError(
                    f"In the label column {self.label[0]!r} {given}, which is none of the {len(self.classes)} classes "
                    f"({_some(self.classes)})."
                )
            return chosen
        columns = np.stack([_target_column(table, name, self.labels) for name in self.label], axis=1)
        return columns[:, 0] if self.labels == "numbers" and len(self.label) == 1 else columns

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """The reverse of `to_json`, or a sentence about what is wrong."""
        try:
            content = json.loads(text)
            if content.pop("version") != VERSION:
                raise ValueError(f"version {VERSION} was expected")
            content["features"] = tuple(_feature(column) for column in content["features"])
            content["label"], content["classes"] = tuple(content["label"]), tuple(content["classes"])
            return cls(**content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"This is not an encoding that was written by a run ({error}).") from error

    @classmethod
    def read(cls, path: Path) -> Encoding:
        try:
            return cls.from_json(path.read_text())
        except OSError as error:
            raise DataError(f"The encoding {path} cannot be read ({error}).") from error


def learn_features(table: pa.Table, leave_out: Sequence[str]) -> tuple[tuple[Number | Category, ...], dict[str, int]]:
    """The features of the training rows, and how many values are missing in which column."""
    features: list[Number | Category] = []
    missing: dict[str, int] = {}
    for name in table.column_names:
        if name in leave_out:
            continue
        column = table[name]
        gaps = column.null_count
        if is_number(column, name):
            values = as_numbers(column, name)
            gaps = int(np.isnan(values).sum())
            if gaps < len(values):
                features.append(_learn_number(name, values))
        elif gaps < len(column):
            features.append(_learn_category(name, as_texts(column, name)))
        if gaps:
            missing[name] = gaps
    return tuple(features), missing


def _learn_number(name: str, values: np.ndarray) -> Number:
    present = values[~np.isnan(values)]
    mean, deviation = float(present.mean()), float(present.std())
    # A constant column carries nothing; dividing by 1 keeps it finite, also where rounding left a crumb of deviation.
    return Number(name, mean, deviation if deviation > 1e-12 * max(1.0, abs(mean)) else 1.0)


def _learn_category(name: str, texts: pa.ChunkedArray) -> Category:
    values = values_of(texts)
    if len(values) > MOST_CATEGORIES or (len(values) > NAMES_ALLOWED and 2 * len(values) > len(texts)):
        raise DataError(
            f"The column {name!r} is text with {len(values):,} different values in {len(texts):,} training rows ({_some(values)}): "
            "that is no category. Take it out of the file, or turn it into numbers."
        )
    return Category(name, values)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise DataError(f"The table has no column {name!r}, which is a feature; it has {_some(table.column_names)}.")
    return table[name]


def _target_column(table: pa.Table, name: str, labels: Labels) -> np.ndarray:
    values = as_numbers(table[name], name)
    if np.isnan(values).any():
        raise DataError(
            f"The label column {name!r} has {int(np.isnan(values).sum())} rows without a value; leave them out."
        )
    if labels == "many" and not np.isin(values, (0, 1)).all():
        raise DataError(f"The label column {name!r} has values other than 0 and 1, which --task multilabel needs.")
    return values.astype(np.float32)


def _feature(content: dict[str, Any]) -> Number | Category:
    if "values" in content:
        return Category(str(content["name"]), tuple(map(str, content["values"])))
    return Number(str(content["name"]), float(content["mean"]), float(content["deviation"]))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
