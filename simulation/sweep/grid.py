"""What a sweep consists of: every strategy with every point of the grid and every seed, each a run with a folder of its own.

A parameter of a part concerns only the strategies that have the part: it does not multiply the runs of the others.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fl_config.errors import ConfigError, nearest
from fl_config.options import FLAGS, changes_numbers, options
from fl_config.toml import Scalar, parse_scalar
from fl_protocol.code import code_on_disk
from fl_strategies.bases import BASES
from fl_strategies.parts import PARTS
from fl_strategies.recipes import parse, prefix_of

# What stands for an option of one run where there are many, or why there is nothing to say.
REFUSED = {
    "strategy": "name the strategies with --strategies A,B",
    "resume": "the same command goes on with a sweep that was stopped",
    "state-folder": "every run of it keeps its clients' state in its own folder",
}
NOT_IN_A_GRID = {"strategy": "name strategies with --strategies A,B", "seed": "say how many with --seeds N"}
LONGEST_NAME = 120  # characters of a folder's name
Grid = Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class Job:
    """One run of a sweep: the name of its folder, and its options."""

    name: str
    values: dict[str, Any]


def parse_grid(texts: Sequence[str]) -> dict[str, list[Scalar]]:
    """`lr=0.05,0.1` and the like; values that have commas of their own stand in a TOML list: `model=["mlp:64,64", "lenet"]`."""
    grid: dict[str, list[Scalar]] = {}
    for text in texts:
        key, equals, listed = (word.strip() for word in text.partition("="))
        if not equals or not key or not listed:
            raise ConfigError(f"--grid takes KEY=VALUE,VALUE,..., such as lr=0.05,0.1, but {text!r} was given.")
        if key in grid:
            raise ConfigError(f"--grid names {key!r} twice: put all of its values into one, separated by commas.")
        grid[key] = _values(key, listed)
    return grid


def _values(key: str, listed: str) -> list[Scalar]:
    if not listed.startswith("["):
        return [parse_scalar(word.strip()) for word in listed.split(",") if word.strip()]
    try:
        values = tomllib.loads(f"values = {listed}")["values"]
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"--grid {key}: the list {listed!r} is not valid TOML ({problem}).") from None
    return list(values)


def jobs_of(values: Mapping[str, Any], strategies: Sequence[str], grid: Grid, seeds: int) -> list[Job]:
    """The runs in the order of strategies, grid and seeds; a sentence for everything that cannot be."""
    if seeds < 1 or not strategies:
        raise ConfigError("A sweep needs at least one strategy and one seed: --strategies fedavg,feddisco --seeds 3.")
    _check_values(values)
    config = options({key: value for key, value in values.items() if "." not in key})
    code_on_disk(config).read()  # plug-ins bring parts, which strategies and the grid may name
    own = {name: set(parse(name).parts) for name in dict.fromkeys(strategies)}
    grid = {_canonical(key): list(of) for key, of in grid.items()}
    fixed = {_canonical(key): value for key, value in values.items()}
    _check_grid(grid, fixed, own)
    _check_parts([key for key in fixed if "." in key], own, "--set")
    made: dict[str, Job] = {}
    for strategy, parts in own.items():
        mine = [key for key in grid if _concerns(key, parts)]
        kept = {key: value for key, value in fixed.items() if _concerns(key, parts)}
        for point in itertools.product(*(grid[key] for key in mine)):
            chosen = dict(zip(mine, point, strict=True))
            for seed in range(config.seed, config.seed + seeds):
                name = _folder_name(strategy, chosen, seed)
                made[name] = Job(name, {**kept, **chosen, "strategy": strategy, "seed": seed})
    return list(made.values())


def _canonical(key: str) -> str:
    """One spelling per key: options with dashes, parameters under their part's own name (`fedssg.alpha` is `ssg.alpha`)."""
    prefix, dot, field = key.partition(".")
    if not dot:
        return key.replace("_", "-")
    part = prefix_of(prefix)
    if part is None:
        raise ConfigError(f"There is no part {prefix!r} for {key!r}{nearest(prefix, [*PARTS, *BASES])}")
    return f"{part}.{field}"


def _concerns(key: str, parts: set[str]) -> bool:
    return "." not in key or key.partition(".")[0] in parts


def _check_values(values: Mapping[str, Any]) -> None:
    for key, instead in REFUSED.items():
        if values.get(key):
            raise ConfigError(f"--{key} cannot be used in a sweep: {instead}.")


def _check_grid(grid: Grid, fixed: Mapping[str, Any], own: Mapping[str, set[str]]) -> None:
    for key, values in grid.items():
        if key in NOT_IN_A_GRID:
            raise ConfigError(f"{key!r} cannot be in the grid: {NOT_IN_A_GRID[key]}.")
        if "." not in key and key not in FLAGS:
            raise ConfigError(f"There is no option {key!r} for the grid{nearest(key, FLAGS)}")
        if key in ("sources", "code") or not changes_numbers(key):
            raise ConfigError(f"{key!r} cannot be in the grid: it does not change the numbers of a run.")
        if key in fixed:
            raise ConfigError(f"{key!r} is given both as an option and in the grid: leave one of them out.")
        if not values:
            raise ConfigError(f"The grid has no value for {key!r}.")
        odd = next((value for value in values if not isinstance(value, bool | int | float | str)), None)
        if odd is not None:
            raise ConfigError(f"The grid takes numbers, words, true and false, but {odd!r} was given for {key!r}.")
        twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
        if twice is not None:
            raise ConfigError(f"The grid has {twice!r} twice for {key!r}; once is enough.")
    _check_parts([key for key in grid if "." in key], own, "the grid")


def _check_parts(keys: Sequence[str], own: Mapping[str, set[str]], where: str) -> None:
    for key in keys:
        part, _, field = key.partition(".")
        fields = PARTS[part].params.model_fields
        if field not in fields:
            has = f"Its parameters are {', '.join(fields)}." if fields else "It has none."
            raise ConfigError(f"The part {part!r} has no parameter {field!r}{nearest(field, fields)} {has}")
        if not any(_concerns(key, parts) for parts in own.values()):
            raise ConfigError(
                f"The parameter {key!r} of {where} belongs to {part!r}, which none of the strategies uses: {', '.join(own)}."
            )


def _folder_name(strategy: str, point: Mapping[str, Scalar], seed: int) -> str:
    """A readable name; where signs had to go, or it would be too long, a few digits of its hash tell it from others."""
    whole = "-".join([strategy, *(f"{key}={value}" for key, value in point.items()), f"seed{seed}"])
    name = re.sub(r"[^\w.+=-]+", "_", whole)
    if name == whole and len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{hashlib.sha256(whole.encode()).hexdigest()[:6]}"
