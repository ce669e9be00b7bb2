"""TOML as this project reads and writes it: flat keys, with one table per part (`disco.a` is `a` in the table `disco`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError

Scalar = bool | int | float | str


def flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """A nested TOML table as flat keys: {"disco": {"a": 1}} becomes {"disco.a": 1}."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}.{inner}": item for inner, item in flatten(value).items()})
        else:
            flat[key] = value
    return flat


def read_toml(path: Path) -> dict[str, Any]:
    """The flat keys of a configuration file."""
    try:
        return flatten(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {path} is not valid TOML: {error}.") from None


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = (
            value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\t", "\\t")
            .replace("\r", "\\r")
        )
        return f'"{escaped}"'
    return repr(value)


def to_toml(values: Mapping[str, Scalar]) -> str:
    """Flat keys as TOML text: plain options first, then a table a part."""
    lines = [f"{key} = {_literal(value)}" for key, value in values.items() if "." not in key]
    tables: dict[str, list[str]] = {}
    for key, value in values.items():
        if "." in key:
            table, name = key.split(".", 1)
            tables.setdefault(table, []).append(f"{name} = {_literal(value)}")
    for table in sorted(tables):
        lines += ["", f"[{table}]", *tables[table]]
    return "\n".join(lines) + "\n"


def parse_assignment(text: str) -> tuple[str, Scalar]:
    """`disco.a=0.4` from --set; the value is read as TOML, and as a plain word where it is none."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or "." not in key:
        raise ConfigError(f"--set takes part.name=value, such as disco.a=0.4, but {text!r} was given.")
    return key, parse_scalar(value)


def parse_scalar(value: str) -> Scalar:
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value.strip()
    return parsed if isinstance(parsed, (bool, int, float, str)) else value.strip()
