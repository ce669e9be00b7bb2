"""What a run's options come to once the strategy is known: the recipe, its parameters, the task, and the settings that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_config.options import FLAGS, PRIVATE, Options, as_flat, options, options_of_run
from fl_config.params import Params
from fl_config.toml import Scalar
from fl_data import check_dataset_spec, check_partition_spec, check_target_spec, names_clients
from fl_data.partitions.column import client_column
from fl_models import check_model_spec
from fl_protocol.code import Code, check_unchanged, code_of_folder, code_on_disk
from fl_runs.tracking.tracking import chosen as chosen_trackers
from fl_strategies.meaning import check_needs
from fl_strategies.population.means import chosen_models
from fl_strategies.recipes import Recipe, flat_parameters, parameters, parse, without_defaults
from fl_strategies.round.privacy.request import LOCAL, check_request, kind_of
from fl_strategies.round.secure.allowed import check_cohort, check_summable
from fl_strategies.sampling import cohort_size
from fl_tasks import CLASSES, LABELS, ChosenMetrics, Task, chosen_metrics, load_task

PERSONAL_HELD_OUT = 0.2
INTERNAL = ("code",)  # options that travel with a run and are not worth keeping


@dataclass(frozen=True)
class Plan:
    config: Options
    recipe: Recipe
    parameters: dict[str, Params]
    task: Task
    metrics: ChosenMetrics
    code: Code

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
    def score(self) -> tuple[str, ...]:
        """The models that the server scores."""
        return chosen_models(self.config.score, self.config.strategy, self.recipe.topology(self.parameters))

    @property
    def private(self) -> bool:
        return self.config.partition == PRIVATE

    def complete(self) -> dict[str, Scalar]:
        """Every option and every parameter of the parts in use, for config.toml."""
        own = as_flat(self.config.model_copy(update={"parts": {}}))
        kept = {key: value for key, value in own.items() if key not in INTERNAL}
        return {**kept, **flat_parameters(self.parameters)}

    def with_options(self, **changed: Any) -> Plan:
        """The same plan with other folders, or another number of clients."""
        return replace(self, config=self.config.model_copy(update=changed))


def make_plan(values: Mapping[str, Any]) -> Plan:
    """A plan from flat keys, everything that can be checked without data checked; sentences for what is wrong."""
    return _plan(options(values))


def plan_of_run(run_config: Mapping[str, Any]) -> Plan:
    """The plan of an app's run config."""
    config = options_of_run(run_config)
    return _plan(config.model_copy(update={"parts": without_defaults(config.parts)}))


def plan_of_folder(values: Mapping[str, Any], sources: Path) -> Plan:
    """The plan of a run that is over, with the texts that its folder keeps; its data need not be here any more."""
    config = options(values)
    return _woven(config, code_of_folder(config, sources))


def _plan(config: Options) -> Plan:
    code = code_on_disk(config)
    if config.sources:
        check_unchanged(code, config.sources, config.resume or config.out or "the run folder")
    plan = _woven(config, code)
    if config.partition != PRIVATE:
        check_partition_spec(config.partition)
    labels, column = LABELS[plan.task.family], "" if plan.private else client_column(config.partition)
    check_dataset_spec(config.dataset, config.label, labels=labels, column=column)
    check_target_spec(config.target, named=plan.private or names_clients(config.partition))
    if config.model != "auto":
        check_model_spec(config.model)
    chosen_trackers(config.track)
    return plan


def _woven(config: Options, code: Code) -> Plan:
    code.read()
    recipe = parse(config.strategy)
    chosen = parameters(recipe, config.parts)
    task = load_task(config.task, code.task)
    metrics = chosen_metrics(task, *("" if text == "auto" else text for text in (config.metrics, config.headline)))
    if CLASSES not in task.offers:
        check_needs(config.strategy, recipe.declared(), CLASSES, f"the task {task.name!r}")
    topology = recipe.topology(chosen)
    topology.check(config.clients)
    chosen_models(config.score, config.strategy, topology)
    check_request(config, recipe, chosen)
    if config.secure_aggregation:
        _check_masked_replies(config, recipe)
    elif config.secure_threshold != FLAGS["secure-threshold"].default:
        raise ConfigError(
            "--secure-threshold has no effect without --secure-aggregation: give that as well, or leave it out."
        )
    known = config.model_copy(update={"sources": code.sums, "code": code.packed()})
    return Plan(known, recipe, chosen, task, metrics, code)


def _check_masked_replies(config: Options, recipe: Recipe) -> None:
    """Refuse what a sum under masks cannot be together with."""
    check_summable(recipe, [word.strip() for word in config.score.split(",")], config.max_update_norm)
    if kind_of(config) == LOCAL:
        raise ConfigError(
            "--dp local has a client noise the reply that it sends, and with --secure-aggregation that is masked already: leave out "
            "one of the two, or take --dp central."
        )
    if config.sampler == "fixed":
        check_cohort(cohort_size(config.clients, config.fraction))
