"""A strategy from a run's plan: initial model, the server's own data (without labels), the evaluation, the run folder."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from safetensors import SafetensorError
from safetensors.numpy import load_file

from clients.state import FolderMemory
from fl_config.device import server_device
from fl_config.errors import ConfigError
from fl_data import Augment, Dataset, Samples, load, target_set
from fl_data.division import ClientCounts, clients_of, dataset_of, shown_clients, shown_counts
from fl_data.formats.data_card import DataCard
from fl_models import describe
from fl_models.spec import build_model, model_spec, outputs_of
from fl_protocol.arrays import to_record
from fl_protocol.replies import told_names
from fl_protocol.settings import local_settings
from fl_runs.early_stopping import early_stops
from fl_runs.folder import LAST_MODELS, RunFolder
from fl_runs.last_batches import check_last_batches
from fl_runs.plan import Plan
from fl_runs.scoring import Evaluation
from fl_runs.tracking.site_book import SiteBook
from fl_runs.tracking.tracking import Tracking, chosen
from fl_strategies.meaning import check_needs
from fl_strategies.population.census import Census
from fl_strategies.round.options import Hooks, Participation, Schedule
from fl_strategies.round.privacy.request import POISSON, check_arrays, protection_of, warn_of_delta
from fl_strategies.round.records import Observer
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.state import RunState
from fl_strategies.strategy import ComposedStrategy
from fl_tasks import LABELS

log = logging.getLogger("fedloom")


@dataclass
class Server:
    """Everything the ServerApp runs: the strategy and what it starts from."""

    plan: Plan
    strategy: ComposedStrategy
    initial: ArrayRecord
    evaluate: Any
    folder: RunFolder
    tracking: Tracking

    @classmethod
    def of(
        cls,
        plan: Plan,
        folder: RunFolder,
        observers: Sequence[Observer] = (),
        state: RunState | None = None,
        stop: threading.Event | None = None,
        census: Census | None = None,
        simulated: bool = False,
    ) -> Server:
        """The server of a plan. Noise and secret cohorts of a `simulated` run follow from its seed, others from nothing known."""
        config = plan.config
        dataset = server_data(plan)
        spec = model_spec(
            config, dataset, plan.recipe.projection, num_outputs=outputs_of(dataset), source=plan.code.model
        )
        model = build_model(spec)
        if not model.has_head:
            check_needs(config.strategy, plan.recipe.declared(), "head", f"the model {spec.name}")
        check_last_batches(plan, dataset, model, spec.name)
        counts, names = client_counts(plan, dataset)
        x, y = target_set(config.target, dataset, counts, config.seed, names)
        folder.write_model({"name": spec.name, **describe(model, spec.source)})
        folder.write_sources(plan.code)
        DataCard.of(dataset).write(folder.path)
        if dataset.encoding is not None:
            folder.write_encoding(dataset.encoding)
        if counts is not None:
            shown = [names[client] if names else client for client in shown_clients(len(counts))]
            of_target = None if y is None else np.bincount(y, minlength=dataset.num_classes).tolist()
            of_clients = shown_counts(config, dataset)
            folder.write_partition(list(dataset.class_names), shown, of_clients, of_target, len(counts))
        device = server_device(config.device)
        resources = ServerResources(
            build=lambda: build_model(spec),
            seed=config.seed,
            device=device,
            target=Samples(x, None, dataset, device),
            augment=Augment("ssa", dataset),
        )
        tracking = Tracking(folder.path, chosen(config.track))
        strategy = ComposedStrategy(
            plan.recipe,
            parts=config.parts,
            local=local_settings(config),
            resources=resources,
            participation=participation(plan, dataset, census),
            schedule=schedule(plan),
            hooks=Hooks(
                observers=[
                    folder,
                    SiteBook(folder.path),
                    *early_stops(plan, folder.records),
                    tracking,
                    *observers,
                ],
                save=folder.checkpoint,
                state=state,
                stop=stop or threading.Event(),
                last_models=lambda client: FolderMemory(folder.path / LAST_MODELS, client),
                protection=protection_of(config, seeded=simulated, folder=folder.path),
            ),
        )
        initial = initial_arrays(model, config.init)
        check_arrays(config, initial, spec.name, {name for name, _ in model.named_parameters()})
        warn_of_delta(config)
        scored = None if y is None else Evaluation(build_model(spec), x, y, dataset, device, plan.task, plan.metrics)
        tracking.open(plan.complete(), folder.records)
        return cls(plan, strategy, initial, scored, folder, tracking)

    def run(self, grid: Any) -> None:
        """All rounds; the folder is closed in order whatever happens, and says whether the run was finished."""
        config = self.plan.config
        finished = False
        try:
            try:
                self.strategy.start(grid, self.initial, config.rounds, config.round_timeout, evaluate_fn=self.evaluate)
                finished = True
            except ConfigError as problem:
                log.error("the run ended: %s", problem)  # into its folder, which may be on another host than its user
                raise
            finally:
                self._close(finished)
        except OSError as error:
            self.folder.close()
            raise self.folder.cut_short(error) from error

    def _close(self, finished: bool) -> None:
        config, state = self.plan.config, self.strategy.state
        if state is not None and state.client_models:
            self.folder.write_client_models(state.client_models)
        arrays = self.strategy.served_arrays if state is not None and state.round > 0 else None
        if finished and arrays is not None and self.evaluate is not None and self.strategy.topology.has_global:
            self.folder.write_tables(self.evaluate.tables(arrays))
        name, metrics = self.plan.recipe.name, self.plan.metrics
        ended = self.strategy.hooks.protection.ended
        summary = self.folder.finish(config.strategy, name, config.seed, arrays, finished, metrics, ended)
        self.strategy.journal.tell("ended", summary)


def client_counts(plan: Plan, dataset: Dataset) -> tuple[ClientCounts | None, Sequence[str] | None]:
    """The classes of the clients as a simulation knows them, and the clients' names where they have some."""
    if plan.private or dataset.labels != "classes":
        return None, None
    return ClientCounts(plan.config, dataset), clients_of(plan.config, dataset)[1]


def participation(plan: Plan, dataset: Dataset, census: Census | None = None) -> Participation:
    config = plan.config
    return Participation(
        fraction_train=config.fraction,
        sampler=config.sampler,
        over_sample=config.over_sample,
        min_clients=config.clients,
        min_replies=0 if config.sampler == POISSON else config.min_replies,  # a round without anybody is one, too
        max_update_norm=config.max_update_norm,
        secure_aggregation=config.secure_aggregation,
        secure_threshold=config.secure_threshold,
        round_timeout=config.round_timeout,
        wait=config.wait,
        expects={
            "num_classes": dataset.num_classes,
            "sample_shape": list(dataset.shape),
            "class_names": told_names(dataset.class_names),
        },
        census=census,
    )


def schedule(plan: Plan) -> Schedule:
    config = plan.config
    return Schedule(
        seed=config.seed,
        lr_decay=config.lr_decay,
        eval_every=config.eval_every,
        personal_epochs=plan.personal_epochs,
        held_out=plan.held_out,
        score=plan.score,
        num_rounds=config.rounds,
        metrics=plan.metrics.names,
        headline=plan.metrics.headline_key,
        better=plan.metrics.better,
    )


def server_data(plan: Plan) -> Dataset:
    """The server's data set, checked by the task; says what labels it found."""
    labels = LABELS[plan.task.family]
    if plan.private:
        config = plan.config
        dataset = load(config.dataset, label=config.label, labels=labels, normalise=config.normalise)
    else:
        dataset = dataset_of(plan.config, labels)
    if len(dataset.y_train):
        plan.task.check_dataset(dataset.y_train)
        log.info("%s: %s", dataset.name, plan.task.found(dataset.y_train))
    return dataset


def initial_arrays(model: Any, init: str) -> ArrayRecord:
    """The seeded initial model, or the one in a .safetensors file, checked against the architecture."""
    own = {name: value.numpy() for name, value in model.state_dict().items()}
    if not init:
        return to_record(own)
    path = Path(init)
    try:
        given = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"The initial model {path} cannot be read as safetensors ({error}).") from None
    odd = sorted(own.keys() ^ given.keys())
    if odd:
        raise ConfigError(f"The initial model {path} does not fit --model: the array {odd[0]!r} is on one side only.")
    for name, value in own.items():
        if given[name].shape != value.shape:
            raise ConfigError(
                f"The initial model {path} does not fit --model: {name!r} has the shape {given[name].shape} instead of {value.shape}."
            )
        if not np.isfinite(given[name]).all():
            raise ConfigError(f"The initial model {path} holds values that are not finite, in {name!r}.")
    return to_record({name: given[name].astype(value.dtype) for name, value in own.items()})
