"""Going on with a run: it keeps its options, and only what does not change its numbers may be given anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import HOW, LENGTH, PLACE, Options, as_flat, role_of
from fl_config.toml import read_toml
from fl_runs.folder import CONFIG
from fl_runs.plan import Plan

FREE = (HOW, LENGTH)  # roles of options that a resumed run may be given anew


def resumed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of the run to resume, with what was given anew."""
    folder = Path(str(values["resume"]))
    old = _configuration(folder)
    given = {key: value for key, value in values.items() if key != "resume"}
    for key, value in given.items():
        if role_of(key) not in FREE and old.get(key) != value:
            raise _changed(key, old.get(key), value, folder)
    return {**old, **given, "out": str(folder), "resume": str(folder)}


def check_resumed(plan: Plan) -> None:
    """Refuse a submitted run that resumes one with other options."""
    folder = Path(plan.config.resume)
    old = _configuration(folder)
    for key, value in plan.complete().items():
        if role_of(key) not in (*FREE, PLACE) and old.get(key) != value:
            raise _changed(key, old.get(key), value, folder)


def _configuration(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).exists():
        raise ConfigError(f"There is no run to resume in {folder}: it has no {CONFIG}.")
    return {**as_flat(Options()), **read_toml(folder / CONFIG)}  # an older version did not know every option


def _changed(key: str, before: object, given: object, folder: Path) -> ConfigError:
    return ConfigError(
        f"A resumed run keeps its options, but {key!r} is {before!r} in {folder} and {given!r} was given."
    )
