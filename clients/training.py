"""The only training loop of the project. Methods are hooks on it (`clients.objectives`); none has a loop of its own.

One step: the task's loss and the objectives' losses, backward (an optimiser such as SAM evaluates this twice), the objectives'
corrections once, clip, weight decay, momentum, step. Everything after backward is a few operations on flat vectors.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from clients.freezing import frozen
from clients.objectives.base import Batch, LocalRound, Objective
from clients.optimizers import Sgd, Step
from fl_config.errors import ConfigError
from fl_config.seeds import seeded, torch_generator
from fl_data import Augment, Samples
from fl_models import Model, Outputs, draws_random_numbers
from fl_models.flat import FlatModel
from fl_protocol.settings import LocalSettings

EVALUATION_BATCH = 500


class FrozenModels:
    """Outputs of received or earlier models on training batches (teachers of ASD, NTD, MOON), in eval mode and without gradients.

    Without augmentation every sample's outputs are computed once per round, in large batches, and looked up afterwards.
    """

    def __init__(self, flat: FlatModel, data: Samples, cached: bool) -> None:
        self.flat, self.data, self.cached = flat, data, cached
        self.models: dict[int, tuple[Tensor, Model]] = {}
        self.known: dict[int, Outputs] = {}

    def _model(self, vector: Tensor) -> Model:
        if id(vector) not in self.models:
            twin = FlatModel(copy.deepcopy(self.flat.model))
            twin.theta.copy_(vector)
            twin.model.eval().requires_grad_(False)
            self.models[id(vector)] = (vector, twin.model)  # holding the vector keeps its id its own
        return self.models[id(vector)][1]

    @torch.no_grad()
    def outputs(self, vector: Tensor, batch: Batch) -> Outputs:
        model = self._model(vector)
        if not self.cached:
            return model.outputs(batch.x)
        if id(vector) not in self.known:
            parts = [
                model.outputs(self.data.batch(slice(i, i + EVALUATION_BATCH))[0])
                for i in range(0, len(self.data), EVALUATION_BATCH)
            ]
            self.known[id(vector)] = Outputs(*(torch.cat(columns) for columns in zip(*parts, strict=True)))
        return Outputs(*(column[batch.index] for column in self.known[id(vector)]))


def minibatches(
    count: int, settings: LocalSettings, round: int, client_id: int | str, device: torch.device, phase: str = ""
) -> Iterator[Tensor]:
    """Shuffled index tensors, epoch after epoch; a function of (seed, round, client, phase) alone."""
    generator = torch_generator(settings.seed, f"batches{phase}", round, client_id)
    size = settings.batch_size or count
    for _ in range(settings.epochs):
        yield from torch.split(torch.randperm(count, generator=generator).to(device), size)


@contextlib.contextmanager
def _buffers_kept(model: Model) -> Iterator[None]:
    """Undo what a pass does to running statistics (SAM's second pass must not count)."""
    before = [buffer.clone() for buffer in model.buffers()]
    yield
    for buffer, value in zip(model.buffers(), before, strict=True):
        buffer.copy_(value)


def train(
    r: LocalRound,
    settings: LocalSettings,
    objectives: Sequence[Objective],
    optimizer: Sgd,
    client_id: int | str,
    augment: Augment | None = None,
    trainable: Tensor | None = None,
) -> float:
    """Train r.flat in place from r.anchor; returns the mean training loss. `trainable` (0/1 per parameter) freezes the rest."""
    flat = r.flat
    device = flat.theta.device
    views = torch_generator(settings.seed, f"augment{r.phase}", r.round, client_id)
    for objective in objectives:
        objective.begin_round(r)
    step = Step(
        settings.lr, settings.momentum, settings.weight_decay + sum(o.extra_decay for o in objectives), settings.clip
    )
    total = torch.zeros((), device=device)
    half_precision = functools.partial(torch.autocast, device.type, torch.bfloat16)
    # Dropout and the like draw from torch's own generator: a function of (seed, round, client), as everything random is.
    draws = seeded(settings.seed, f"draws{r.phase}", r.round, client_id, device=device)
    with frozen(flat, trainable), draws if draws_random_numbers(flat.model) else contextlib.nullcontext():
        for index in minibatches(len(r.data), settings, r.round, client_id, device, r.phase):
            x, y = r.data.batch(index)
            assert y is not None
            if augment is not None:
                x = augment(x, views)

            def closure(first: bool, x: Tensor = x, y: Tensor = y, index: Tensor = index) -> None:
                with contextlib.nullcontext() if first else _buffers_kept(flat.model):
                    with half_precision() if settings.mixed_precision else contextlib.nullcontext():
                        batch = Batch(x, y, index, flat.model.outputs(x))
                        loss = r.task.loss(batch.outputs.logits, y)
                        for objective in objectives:
                            term = objective.loss(r, batch)
                            loss = loss if term is None else loss + term
                    loss.backward()  # type: ignore[no-untyped-call]
                with torch.no_grad():
                    for objective in objectives:
                        if objective.every_pass:
                            objective.correction(r)
                    if first:
                        total.add_(loss.detach(), alpha=len(y))

            flat.zero_grad()
            try:
                optimizer.gradient(flat, closure)
            except ValueError as error:
                if len(y) > 1 or "more than 1 value per channel" not in str(error):
                    raise
                raise ConfigError(
                    f"batch normalisation cannot train on the last batch, which has one sample of {len(r.data)} "
                    f"(--batch-size {settings.batch_size}): choose another --batch-size"
                ) from error
            with torch.no_grad():
                for objective in objectives:
                    if not objective.every_pass:
                        objective.correction(r)
                step(flat, trainable)
            r.steps += 1
    with torch.no_grad():
        for objective in objectives:
            objective.end_round(r)
    return float(total) / (settings.epochs * len(r.data))
