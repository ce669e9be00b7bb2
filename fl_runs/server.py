"""A strategy from a run's plan: initial model, the server's own data (without labels), the evaluation, the run folder."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, MetricRecord
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_data import Augment, Dataset, Samples, load, target_set
from fl_data.division import counts_of
from fl_models.flat import FlatModel, load_buffers, state_to_vector
from fl_models.spec import build_model, model_spec
from fl_protocol.arrays import from_record, to_record
from fl_protocol.replies import told_names
from fl_protocol.settings import local_settings
from fl_runs.folder import RunFolder
from fl_runs.plan import Plan
from fl_strategies.round.options import Hooks, Participation, Schedule
from fl_strategies.round.records import Observer
from fl_strategies.round.resources import ServerResources
from fl_strategies.round.state import RunState
from fl_strategies.strategy import ComposedStrategy
from fl_tasks.classification import evaluate

log = logging.getLogger("fedloom")


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """The server computes while its clients rest; clients always use one thread, so that their bits do not depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(os.cpu_count() or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class Server:
    """Everything the ServerApp runs: the strategy and what it starts from."""

    plan: Plan
    strategy: ComposedStrategy
    initial: ArrayRecord
    evaluate: Any
    folder: RunFolder

    @classmethod
    def of(
        cls,
        plan: Plan,
        folder: RunFolder,
        observers: Sequence[Observer] = (),
        state: RunState | None = None,
        stop: threading.Event | None = None,
    ) -> Server:
        config = plan.config
        dataset = load(config.dataset)
        spec = model_spec(config, dataset, plan.recipe.projection)
        counts = None if plan.private else counts_of(config, dataset)  # how private data is spread is nobody's to know
        x, y = target_set(config.target, dataset, counts, config.seed)
        if counts is not None:
            folder.write_partition(
                list(dataset.class_names),
                list(range(config.clients)),
                counts,
                None if y is None else np.bincount(y, minlength=dataset.num_classes).tolist(),
            )
        device = choose_device(config.device)
        resources = ServerResources(
            build=lambda: build_model(spec),
            seed=config.seed,
            device=device,
            target=Samples(x, None, dataset, device),
            augment=Augment("ssa", dataset),
        )
        strategy = ComposedStrategy(
            plan.recipe,
            parts=config.parts,
            local=local_settings(config),
            resources=resources,
            participation=participation(plan, dataset),
            schedule=Schedule(
                seed=config.seed,
                lr_decay=config.lr_decay,
                eval_every=config.eval_every,
                personal_epochs=plan.personal_epochs,
                held_out=plan.held_out,
                num_rounds=config.rounds,
            ),
            hooks=Hooks(
                observers=[folder, *observers],
                save=lambda state: folder.checkpoint(state, config.rounds),
                state=state,
                stop=stop or threading.Event(),
            ),
        )
        initial = initial_arrays(build_model(spec), config.init)
        if config.dp_clip and any(value.dtype != "float32" for value in initial.values()):
            raise ConfigError(
                f"--dp-clip adds noise to every array of the model, but {spec.name} counts batches in one: choose a model "
                "without batch normalisation."
            )
        return cls(
            plan, strategy, initial, None if y is None else Evaluation(build_model(spec), x, y, dataset, device), folder
        )

    def run(self, grid: Any) -> None:
        """All rounds; the folder is closed in order whatever happens, and says whether the run was finished."""
        config = self.plan.config
        finished = False
        try:
            self.strategy.start(grid, self.initial, config.rounds, config.round_timeout, evaluate_fn=self.evaluate)
            finished = True
        except ConfigError as problem:
            log.error("the run ended: %s", problem)  # into its folder, which may be on another host than its user
            raise
        finally:
            state = self.strategy.state
            if state is not None and state.client_models:
                self.folder.write_client_models(state.client_models)
            arrays = self.strategy.served_arrays if state is not None and state.round > 0 else None
            self.folder.finish(config.strategy, self.plan.recipe.name, config.seed, arrays, finished)


def participation(plan: Plan, dataset: Dataset) -> Participation:
    config = plan.config
    return Participation(
        fraction_train=config.fraction,
        sampler=config.sampler,
        over_sample=config.over_sample,
        min_clients=config.clients,
        min_replies=config.min_replies,
        max_update_norm=config.max_update_norm,
        round_timeout=config.round_timeout,
        wait=config.wait,
        expects={
            "num_classes": dataset.num_classes,
            "sample_shape": list(dataset.shape),
            "class_names": told_names(dataset.class_names),
        },
    )


class Evaluation:
    """The server's test: loss, accuracy, accuracy a class, of any model of the run's architecture."""

    def __init__(self, model: Any, x: NDArray[Any], y: NDArray[Any], dataset: Dataset, device: torch.device) -> None:
        self.flat = FlatModel(model.to(device))
        self.samples = Samples(x, y, dataset, device)
        self.num_classes = dataset.num_classes

    def __call__(self, round: int, arrays: ArrayRecord) -> MetricRecord:
        named = from_record(arrays)
        self.flat.load(state_to_vector(named, self.flat.names))
        load_buffers(self.flat.model, {name: value for name, value in named.items() if name not in self.flat.names})
        with all_cores():
            score = evaluate(self.flat.model, self.samples, self.num_classes)
        classes = [float("nan") if value is None else value for value in score.class_accuracy]
        return MetricRecord({"accuracy": score.accuracy, "loss": score.loss, "class_accuracy": classes})


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
