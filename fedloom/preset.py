"""The papers' settings by name: one TOML file for each published table, in `presets/`, which the package carries."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from fl_config.errors import ConfigError, nearest
from fl_config.toml import flatten
from fl_strategies.bases import BASES


def names() -> list[str]:
    return sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))


def preset(name: str, strategy: object = None) -> dict[str, Any]:
    """The settings of a preset under flat keys.

    With another strategy than its own, it is another row of the same table: parameters of parts that this one does not have are left
    out.
    """
    values = flatten(tomllib.loads(_text(name)))
    if isinstance(strategy, str):
        base, *added = (word.strip().lower() for word in strategy.split("+"))
        parts = {base, *added, *(BASES[base].parts if base in BASES else ())}
        values = {key: value for key, value in values.items() if "." not in key or key.partition(".")[0] in parts}
        values["strategy"] = strategy
    return values


def about(name: str) -> str:
    """What it is, as its first line says."""
    return _text(name).partition("\n")[0].removeprefix("# ")


def _text(name: str) -> str:
    if name not in (known := names()):
        raise ConfigError(f"There is no preset {name!r}{nearest(name, known)} `fedloom presets` lists them all.")
    return (_folder() / f"{name}.toml").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("fedloom") / "presets"
