"""What a run's model is built from, and the model in this process: one flat model per specification, kept between rounds."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from fl_config.device import choose_device
from fl_config.options import Options
from fl_models.architectures import auto, build
from fl_models.flat import FlatModel


class Described(Protocol):
    """What a model must know of a data set."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def num_classes(self) -> int: ...
    @property
    def kind(self) -> Any: ...
    @property
    def vocabulary(self) -> int: ...


@dataclass(frozen=True)
class ModelSpec:
    """Everything that a model's architecture and initial weights depend on."""

    name: str
    shape: tuple[int, ...]
    num_classes: int
    kind: str
    vocabulary: int
    projection: int
    seed: int


def model_spec(config: Options, dataset: Described, projection: int) -> ModelSpec:
    name = auto(config.dataset, dataset.kind, dataset.shape) if config.model == "auto" else config.model
    return ModelSpec(
        name, dataset.shape, dataset.num_classes, dataset.kind, dataset.vocabulary, projection, config.seed
    )


def build_model(spec: ModelSpec) -> Any:
    return build(
        spec.name,
        spec.shape,
        spec.num_classes,
        kind=spec.kind,
        vocabulary=spec.vocabulary,
        projection=spec.projection,
        seed=spec.seed,
    )


@functools.lru_cache(maxsize=2)
def flat_model(spec: ModelSpec, device: str) -> FlatModel:
    return FlatModel(build_model(spec).to(choose_device(device)))


@functools.lru_cache(maxsize=2)
def initial_state(spec: ModelSpec) -> dict[str, NDArray[Any]]:
    """The seeded initial model by state-dict names; the flat model of the process has long been trained."""
    return {name: value.numpy() for name, value in build_model(spec).state_dict().items()}
