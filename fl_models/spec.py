"""What a run's model is built from, and the model in this process: one flat model per specification, kept between rounds."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from fl_config.device import choose_device
from fl_config.options import Options
from fl_models.building import auto, build, names_code
from fl_models.flat import FlatModel
from fl_models.loading import Source, source_of
from fl_models.model import Model


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
    """Everything that a model's architecture and initial weights depend on.

    `num_outputs` is 0 for one per class. `source` is the text of a model of the user's; `given` is a class, function or module
    that has no text other processes could read, and works in this process only.
    """

    name: str
    shape: tuple[int, ...]
    num_classes: int
    kind: str
    vocabulary: int
    projection: int
    seed: int
    num_outputs: int = 0
    source: Source | None = None
    given: Any = None


def model_spec(
    config: Options,
    dataset: Described,
    projection: int,
    *,
    num_outputs: int = 0,
    source: Source | None = None,
    given: Any = None,
) -> ModelSpec:
    """The specification of `--model` for a data set; a model of the user's is read from the disk unless its text is given."""
    name = auto(config.dataset, dataset.kind, dataset.shape) if config.model == "auto" else config.model
    if source is None and given is None and names_code(name):
        source = source_of(name)
    return ModelSpec(
        name,
        dataset.shape,
        dataset.num_classes,
        dataset.kind,
        dataset.vocabulary,
        projection,
        config.seed,
        num_outputs,
        source,
        given,
    )


def outputs_of(dataset: Any) -> int:
    """How many outputs the data set asks for; 0 where that is one per class, as a model has anyway."""
    return 0 if dataset.labels == "classes" else int(dataset.outputs)


def build_model(spec: ModelSpec) -> Model:
    return build(
        spec.name,
        spec.shape,
        spec.num_classes,
        kind=spec.kind,
        vocabulary=spec.vocabulary,
        projection=spec.projection,
        seed=spec.seed,
        num_outputs=spec.num_outputs,
        source=spec.source,
        given=spec.given,
    )


@functools.lru_cache(maxsize=2)
def flat_model(spec: ModelSpec, device: str) -> FlatModel:
    return FlatModel(build_model(spec).to(choose_device(device)))


@functools.lru_cache(maxsize=2)
def initial_state(spec: ModelSpec) -> dict[str, NDArray[Any]]:
    """The seeded initial model by state-dict names; the flat model of the process has long been trained."""
    return {name: value.numpy() for name, value in build_model(spec).state_dict().items()}
