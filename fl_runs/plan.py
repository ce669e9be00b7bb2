"""What a run's options come to once the strategy is known: the recipe, its parameters, and the settings that depend on it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import FLAGS, Options, as_flat, options
from fl_config.params import Params
from fl_config.toml import Scalar
from fl_data import check_dataset_spec, check_partition_spec, check_target_spec
from fl_models import check_model_spec
from fl_strategies.parts import PARTS
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse

PRIVATE = "private"  # the partition of a deployment whose clients have data of their own
PERSONAL_HELD_OUT = 0.2
FINE_TUNING_EPOCHS = 5
MOON_PROJECTION = 256


@dataclass(frozen=True)
class Plan:
    config: Options
    recipe: Recipe
    parameters: dict[str, Params]

    @property
    def projection(self) -> int:
        """Width of the projection head that MOON asks for; 0 is none."""
        return MOON_PROJECTION if "moon" in self.recipe.parts else 0

    @property
    def personal_epochs(self) -> int:
        chosen = self.config.personal_epochs
        tuned = self.recipe.topology == "babu" or self.recipe.one("clusters") is not None
        return (FINE_TUNING_EPOCHS if tuned else 0) if chosen == "auto" else chosen

    @property
    def held_out(self) -> float:
        chosen = self.config.held_out
        return (
            (PERSONAL_HELD_OUT if self.recipe.personal or self.personal_epochs else 0.0) if chosen == "auto" else chosen
        )

    @property
    def private(self) -> bool:
        return self.config.partition == PRIVATE

    def complete(self) -> dict[str, Scalar]:
        """Every option and every parameter of the parts in use, for config.toml."""
        return {**as_flat(self.config.model_copy(update={"parts": {}})), **flat_parameters(self.parameters)}


def make_plan(values: Mapping[str, Any]) -> Plan:
    """A plan from flat keys, everything that can be checked without data checked; sentences for what is wrong."""
    return _plan(tuple(sorted(values.items())), True)


def plan_of_run(run_config: Mapping[str, Any], on_server: bool = True) -> Plan:
    """The plan of an app's run config, which has every option; one that lacks some would silently mean the defaults.

    A client with data of its own does not look for the server's files.
    """
    missing = sorted(FLAGS.keys() - run_config.keys())
    if missing:
        raise ConfigError(
            f"The run config lacks {missing[0]!r} and {len(missing) - 1} more options: run the app with its own pyproject.toml."
        )
    return _plan(tuple(sorted(run_config.items())), on_server)


@functools.lru_cache(maxsize=8)
def _plan(items: tuple[tuple[str, Any], ...], on_server: bool) -> Plan:
    config = options(dict(items))
    recipe = parse(config.strategy)
    chosen = parameters(recipe, config.parts)
    recipe.topology_of(chosen).check(config.clients)
    if config.dp_clip:
        _check_private_replies(recipe)
    if config.partition != PRIVATE:
        check_partition_spec(config.partition)
    if on_server or config.partition != PRIVATE:
        check_dataset_spec(config.dataset)
        check_target_spec(config.target)
    if config.model != "auto":
        check_model_spec(config.model)
    return Plan(config, recipe, chosen)


def _check_private_replies(recipe: Recipe) -> None:
    """Differential privacy covers the model that a client sends; a recipe that has it send more would undo that."""
    beside = recipe.topology or recipe.one("clusters") or recipe.one("drift")
    weighting = PARTS[recipe.weighting].weighting
    if beside is None and weighting is not None and weighting.reports:
        beside = recipe.weighting
    if beside is not None:
        raise ConfigError(
            f"--dp-clip covers one model that a client sends, but with {beside!r} clients keep or send more than that: "
            "choose a strategy without it, such as fedavg or feddisco."
        )
