"""The ways in for a user's own data: how `npz:FILE` and its like are declared, and what a run may ask of one.

A way in is one function under `@way(...)` in a file of this folder (or of a plug-in); nothing else has to be edited. A form
without a colon is a data set by name: `@way("two-moons", "...", place="nowhere")`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fl_config.parts import same_plugin
from fl_data.dataset import DataError, Dataset, Labels, Normalise

if TYPE_CHECKING:
    from fl_data.tables.encoding import Encoding


@dataclass(frozen=True)
class Wanted:
    """What a run wants of its data, beside their name."""

    label: str = ""  # the column to predict (several with commas, for numbers and many); tables only
    labels: Labels = "classes"
    column: str = ""  # the column whose values are the clients, which is no feature then
    normalise: Normalise = "auto"
    encoding: Encoding | None = (
        None  # of an earlier run or of another site; without one it is learned from the training rows
    )


Read = Callable[[Path, Wanted], Dataset]
Place = Literal["file", "folder", "file or folder", "nowhere"]
Label = Literal["no", "optional", "needed"]


@dataclass(frozen=True)
class Way:
    """A declared way in."""

    name: str
    form: str
    what: str
    read: Read
    place: Place
    label: Label
    columns: bool
    targets: tuple[Labels, ...]


WAYS: dict[str, Way] = {}
_TASKS: dict[Labels, str] = {"classes": "classification", "numbers": "regression", "many": "multilabel"}


def way(
    form: str,
    what: str,
    *,
    place: Place = "file",
    label: Label = "no",
    columns: bool = False,
    targets: tuple[Labels, ...] = ("classes",),
) -> Callable[[Read], Read]:
    """Declare the function below as the reader of `form`, whose name stands before the colon.

    `place`: what has to exist behind the colon; with "nowhere" the reader is given whatever stands there. `label`: whether
    `--label` is needed, optional, or has no meaning ("no"). `columns`: whether a column may name the clients. `targets`: what can be predicted from such data.
    """

    def declare(read: Read) -> Read:
        name = form.partition(":")[0]
        if name in WAYS and not same_plugin(WAYS[name].read, read):
            raise DataError(f"There are two kinds of data called {name!r}; give one of them another name.")
        WAYS[name] = Way(name, form, what, read, place, label, columns, targets)
        return read

    return declare


def find(spec: str) -> tuple[Way, Path] | None:
    """The way in and the place of a spec; None where it is a name of the catalog, or of nothing."""
    name, colon, place = spec.partition(":")
    known = WAYS.get(name)
    return None if known is None or bool(colon) != (":" in known.form) else (known, Path(place).expanduser())


def check_place(spec: str, found: Way, path: Path) -> None:
    """Raise a sentence unless there is something at the place."""
    if found.place == "nowhere":
        return
    there = {"file": path.is_file, "folder": path.is_dir, "file or folder": path.exists}[found.place]
    if not spec.partition(":")[2] or not there():
        raise DataError(f"{spec!r} names no {found.place} that exists.")


def check_wanted(spec: str, found: Way | None, wanted: Wanted) -> None:
    """Raise a sentence unless such data can give what the run wants; without a way in, it is a data set of the catalog."""
    if wanted.label and (found is None or found.label == "no"):
        raise DataError(
            f"--label {wanted.label!r} names a column of a table, but {spec} brings labels of its own; leave --label out."
        )
    if not wanted.label and wanted.encoding is None and found is not None and found.label == "needed":
        raise DataError(f"{spec} needs --label COLUMN, the column to predict.")
    if wanted.column and (found is None or not found.columns):
        raise DataError(
            f"--partition column:{wanted.column} takes the clients from a column, but {spec} has no columns; "
            "use another partition, such as iid or dirichlet:0.5."
        )
    targets = ("classes",) if found is None else found.targets
    if wanted.labels not in targets:
        able = ", ".join(known.form for known in WAYS.values() if wanted.labels in known.targets)
        raise DataError(
            f"{spec} has one class per sample, but --task {_TASKS[wanted.labels]} needs other labels: use {able}."
        )
