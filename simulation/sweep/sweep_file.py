"""`sweep.json`: what a folder of a sweep says that it is, for everyone who reads sweeps; it loads nothing heavy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError

FILE = "sweep.json"


def read_sweep(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ConfigError(f"{folder / FILE} is not valid JSON ({problem}).") from None
    if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
        raise ConfigError(f"{folder / FILE} does not list the runs of a sweep.")
    return content


def runs_of(folder: Path) -> list[Path]:
    """The folders of a sweep's runs, in its order, as far as they have begun."""
    places = [folder / str(name) for name in read_sweep(folder)["runs"]]
    return [place for place in places if (place / "config.toml").exists()]
