"""`file:FILE.json`: the clients' samples as the user lists them.

Either a list of index lists, one per client, whose clients are numbered from 0:
    [[0, 5, 7], [1, 2], [3, 9]]
or an object with one index list per name, whose clients have these names, in alphabetical order:
    {"hospital a": [0, 5, 7], "hospital b": [1, 2]}
An index is the number of a training sample from 0 on. Samples may be left out, but none may be given twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Columns, Parts, Request, scheme


def _check(text: str, spec: str) -> None:
    if not Path(text).expanduser().is_file():
        raise ConfigError(f"--partition {spec!r} names no file that exists.")


def _names(text: str, columns: Columns, spec: str) -> tuple[str, ...] | None:
    content = _read(Path(text).expanduser())
    return tuple(sorted(content)) if isinstance(content, dict) else None


@scheme(
    "file:FILE.json",
    "a JSON list of index lists, one per client, or an object with one index list per client's name",
    check=_check,
    by_class=False,
    repair=False,
    thinnable=False,
    names=_names,
)
def divide(ask: Request) -> Parts:
    path = Path(ask.text).expanduser()
    content = _read(path)
    named = sorted(content.items()) if isinstance(content, dict) else list(enumerate(content))
    if len(named) != ask.clients:
        raise ConfigError(f"{path} describes {len(named)} clients, but --clients is {ask.clients}.")
    parts = [np.sort(np.array(row, dtype=np.int64)) for _, row in named]
    flat = np.concatenate(parts)
    samples = len(ask.labels)
    if flat.size and (flat.min() < 0 or flat.max() >= samples):
        raise ConfigError(
            f"{path} has the indices {flat.min()}..{flat.max()}, but the training set has 0..{samples - 1}."
        )
    if len(np.unique(flat)) != len(flat):
        values, times = np.unique(flat, return_counts=True)
        raise ConfigError(f"{path} gives sample {values[times.argmax()]} to {times.max()} places; each may occur once.")
    for (name, _), part in zip(named, parts, strict=True):
        if len(part) < ask.least:
            raise ConfigError(f"{path} gives client {name} {len(part)} samples; at least {ask.least} are needed.")
    return parts


def _read(path: Path) -> list[Any] | dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not readable JSON ({error}); a list of index lists was expected.") from error
    rows = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and all(type(value) is int for value in row) for row in rows
    ):
        raise ConfigError(
            f"{path} is neither a list of lists of whole numbers, one list per client, nor an object of such lists by name."
        )
    return content  # type: ignore[no-any-return]
