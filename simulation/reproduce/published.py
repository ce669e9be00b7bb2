"""Tables that others have published, as data: TOML files in `tables/`, one per table, each a grid of data and methods.

    title, source          of whom, and where it was read
    measure                "accuracy" (after the last round, in %), or "rounds to 97" (the first round with so many %)
    score                  the record that is measured, such as population/accuracy, where authors scored that model
    seed, seeds            the first seed, and how many
    tolerance, why         how far ours may be from theirs, in the unit of the measure, and why so far
    [setting]              options of `fedloom run` that all rows share
    [data.NAME]            shown, setting, and published = { METHOD = figure }; may have measure, score, tolerance and why of its own
    [method.NAME]          shown, setting; best-of = [settings] where the best of several counts; may have a score of its own

A figure is a number, "base", or "above METHOD" where a gain is all that is claimed. `no-target = { METHOD = why }` names a figure that
nobody should meet. The row of data D and method M in the file T.toml is called T-D-M.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError, nearest
from fl_config.toml import flatten

TABLES = Path(__file__).parent / "tables"
BASE, ABOVE, ROUNDS_TO = "base", "above ", "rounds to "
OF_TABLE = {"title", "source", "measure", "score", "seed", "seeds", "tolerance", "why", "setting", "data", "method"}
OF_DATA = {"shown", "setting", "published", "measure", "score", "tolerance", "why", "no-target"}
OF_METHOD = {"shown", "setting", "best-of", "score"}


@dataclass(frozen=True)
class Setting:
    """Options of `fedloom run` without a seed; `label` tells those apart of which the best counts."""

    label: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One published figure, and how it is to be measured."""

    name: str
    table: str  # its title
    source: str
    data: str
    method: str
    settings: tuple[Setting, ...]
    figure: float | None
    above: str  # the row that it must be above, where a gain is claimed
    base: str  # that row's method
    measure: str
    score: str
    tolerance: float
    why: str
    no_target: str
    seed: int
    seeds: int

    @property
    def level(self) -> float | None:
        """The share to be reached, where rounds are counted."""
        return float(self.measure.removeprefix(ROUNDS_TO)) / 100 if self.measure.startswith(ROUNDS_TO) else None

    @property
    def published(self) -> str:
        if self.above:
            return f"above {self.base}"
        return BASE if self.figure is None else f"{self.figure:g}{self.unit}"

    @property
    def unit(self) -> str:
        return " %" if self.level is None else " rounds"


def read_tables(files: Sequence[Path] = ()) -> list[Row]:
    """The rows of these files, or of all tables that are known."""
    return [row for file in (files or sorted(TABLES.glob("*.toml"))) for row in _read(Path(file))]


def selected(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """The rows that are named, by a name, by its beginning up to a dash, or by a pattern such as niid-fashion-*."""
    found: dict[str, Row] = {}
    for name in names:
        own = [row for row in rows if row.name == name] or [
            row for row in rows if row.name.startswith(f"{name}-") or fnmatchcase(row.name, name)
        ]
        if not own:
            known = [row.name for row in rows]
            raise ConfigError(
                f"There is no published row {name!r}{nearest(name, known)} `fedloom reproduce --list` shows all of them."
            )
        for row in own:
            found[row.name] = row
            found |= {base.name: base for base in rows if base.name == row.above}
    return [row for row in rows if row.name in found]


def _read(file: Path) -> list[Row]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The table {file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The table {file} is not valid TOML: {error}.") from None
    _check(table, OF_TABLE, ("title", "source", "data", "method"), str(file))
    rows = []
    for name, data in table["data"].items():
        _check(data, OF_DATA, ("shown", "published"), f"{file}, [data.{name}]")
        for method, figure in data["published"].items():
            if method not in table["method"]:
                raise ConfigError(
                    f"{file}, [data.{name}] names the method {method!r}{nearest(method, table['method'])} There is no "
                    f"[method.{method}]."
                )
            _check(table["method"][method], OF_METHOD, ("shown",), f"{file}, [method.{method}]")
            rows.append(_row(file, table, name, method, figure))
    return rows


def _row(file: Path, table: Mapping[str, Any], name: str, method: str, figure: float | str) -> Row:
    data, how = table["data"][name], table["method"][method]
    general = {"measure": "accuracy", "score": "global/accuracy", "tolerance": 0.0, "why": "", "seed": 0, "seeds": 1}
    told = {**general, **table, **data, **{key: how[key] for key in ("score",) if key in how}}
    where = f"{file}, row {file.stem}-{name}-{method}"
    if told["measure"] != "accuracy" and not re.fullmatch(rf"{ROUNDS_TO}\d+(\.\d+)?", told["measure"]):
        raise ConfigError(f"{where}: the measure is 'accuracy' or 'rounds to 97', but {told['measure']!r} was given.")
    if isinstance(figure, str) and figure != BASE and figure.removeprefix(ABOVE) not in data["published"]:
        raise ConfigError(f"{where}: a figure is a number, 'base' or 'above METHOD', but {figure!r} was given.")
    base = figure.removeprefix(ABOVE) if isinstance(figure, str) and figure != BASE else ""
    common = flatten({**table.get("setting", {}), **data.get("setting", {}), **how.get("setting", {})})
    variants = [flatten(one) for one in how.get("best-of", [{}])]
    settings = tuple(
        Setting(", ".join(f"{key}={value}" for key, value in one.items()), {**common, **one}) for one in variants
    )
    return Row(
        name=f"{file.stem}-{name}-{method}",
        table=told["title"],
        source=told["source"],
        data=data["shown"],
        method=how["shown"],
        settings=settings,
        figure=None if isinstance(figure, str) else float(figure),
        above=f"{file.stem}-{name}-{base}" if base else "",
        base=table["method"][base]["shown"] if base else "",
        measure=told["measure"],
        score=told["score"],
        tolerance=float(told["tolerance"]),
        why=told["why"],
        no_target=data.get("no-target", {}).get(method, ""),
        seed=told["seed"],
        seeds=told["seeds"],
    )


def _check(table: Mapping[str, Any], known: set[str], needed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: there is no key {key!r}{nearest(key, sorted(known))}")
    for key in needed:
        if key not in table:
            raise ConfigError(f"{where}: the key {key!r} is missing.")
