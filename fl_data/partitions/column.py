"""`column:NAME`: the clients are the values of a column of the data, such as the hospital that a row comes from.

Clients have the column's values as names, in alphabetical order. The column is not a feature, and no row ever moves to
another client: a client with too few rows is an error and not topped up.
"""

from __future__ import annotations

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Columns, Parts, Request, scheme

PREFIX = "column:"


def client_column(spec: str) -> str:
    """The column whose values are the clients, or an empty text where the partition is another one."""
    rest = spec.strip()
    if rest.startswith("longtail:"):
        rest = rest.partition(",")[2]
    return rest.removeprefix(PREFIX) if rest.startswith(PREFIX) else ""


def _check(text: str, spec: str) -> None:
    if text != text.strip():
        raise ConfigError(f"--partition {spec!r}: NAME is a column's name without spaces around it.")


def _values(text: str, columns: Columns, spec: str) -> np.ndarray:
    if text not in columns:
        raise ConfigError(
            f"--partition {spec!r}: the data has no column {text!r} for the clients; "
            "columns come with csv:, parquet: and hf: data, and with npz: files that hold an array of that name."
        )
    return np.asarray(columns[text])


def _names(text: str, columns: Columns, spec: str) -> tuple[str, ...]:
    return tuple(str(value) for value in np.unique(_values(text, columns, spec)))


@scheme(
    "column:NAME",
    "one client per value of that column of the data, with the value as its name",
    check=_check,
    by_class=False,
    repair=False,
    names=_names,
)
def divide(ask: Request) -> Parts:
    names, owner = np.unique(_values(ask.text, ask.columns, ask.spec), return_inverse=True)
    if len(names) != ask.clients:
        raise ConfigError(
            f"{ask.what}: the column has {len(names)} values, so there are {len(names)} clients, but --clients is "
            f"{ask.clients}; leave --clients out or set it to {len(names)}."
        )
    sizes = np.bincount(owner, minlength=len(names))
    if sizes.min() < ask.least:
        short = int(sizes.argmin())
        raise ConfigError(
            f"{ask.what}: {str(names[short])!r} has {sizes[short]} training samples; at least {ask.least} are needed. "
            "Lower --min-samples or leave its rows out of the data."
        )
    order = np.argsort(owner, kind="stable")
    return [ask.indices[rows] for rows in np.split(order, np.cumsum(sizes)[:-1])]
