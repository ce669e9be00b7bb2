"""What a run's options come to once the strategy is known: the recipe, its parameters, and the settings that depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import PRIVATE, Options, as_flat, options, options_of_run
from fl_config.params import Params
from fl_config.toml import Scalar
from fl_data import check_dataset_spec, check_partition_spec, check_target_spec
from fl_models import check_model_spec
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse

PERSONAL_HELD_OUT = 0.2


@dataclass(frozen=True)
class Plan:
    config: Options
    recipe: Recipe
    parameters: dict[str, Params]

    @property
    def personal_epochs(self) -> int:
        chosen = self.config.personal_epochs
        return self.recipe.fine_tuning_epochs if chosen == "auto" else chosen

    @property
    def held_out(self) -> float:
        chosen = self.config.held_out
        scored = self.recipe.personal or self.personal_epochs
        return (PERSONAL_HELD_OUT if scored else 0.0) if chosen == "auto" else chosen

    @property
    def private(self) -> bool:
        return self.config.partition == PRIVATE

    def complete(self) -> dict[str, Scalar]:
        """Every option and every parameter of the parts in use, for config.toml."""
        return {**as_flat(self.config.model_copy(update={"parts": {}})), **flat_parameters(self.parameters)}

    def placed(self, **places: str) -> Plan:
        """The same plan with other folders."""
        return replace(self, config=self.config.model_copy(update=places))


def make_plan(values: Mapping[str, Any]) -> Plan:
    """A plan from flat keys, everything that can be checked without data checked; sentences for what is wrong."""
    return _plan(options(values))


def plan_of_run(run_config: Mapping[str, Any]) -> Plan:
    """The plan of an app's run config."""
    return _plan(options_of_run(run_config))


def _plan(config: Options) -> Plan:
    recipe = parse(config.strategy)
    chosen = parameters(recipe, config.parts)
    recipe.topology(chosen).check(config.clients)
    if config.dp_clip:
        _check_private_replies(recipe)
    if config.partition != PRIVATE:
        check_partition_spec(config.partition)
    check_dataset_spec(config.dataset)
    check_target_spec(config.target)
    if config.model != "auto":
        check_model_spec(config.model)
    return Plan(config, recipe, chosen)


def _check_private_replies(recipe: Recipe) -> None:
    """Differential privacy covers the model that a client sends; a recipe that has it send more would undo that."""
    beside = recipe.one("topology") or recipe.one("drift")
    if beside is None and any(half.reports for half in recipe.halves("weighting").values()):
        beside = recipe.weighting
    if beside is not None:
        raise ConfigError(
            f"--dp-clip covers one model that a client sends, but with {beside!r} clients keep or send more than that: "
            "choose a strategy without it, such as fedavg or feddisco."
        )
