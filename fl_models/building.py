"""Models by name: whether a name is a model's, whether it can take the data, and its initial weights as a function of the seed."""

from __future__ import annotations

from typing import Any

import torch

from fl_config.errors import ConfigError, nearest
from fl_config.seeds import seeded
from fl_models import architectures, loading, spelling  # noqa: F401 (importing the first one fills ARCHITECTURES)
from fl_models.declaration import ARCHITECTURES, Architecture, Inputs
from fl_models.foreign import wrap
from fl_models.loading import Source
from fl_models.model import Model
from fl_models.own import Offered, example_of, make

MODELS: dict[str, str] = {each.written: each.what for each in ARCHITECTURES.values()}
KINDS = ("image", "features", "tokens")

# The model that the papers use for a data set; where they differ, the one that a CPU can train.
_PAPERS = {dataset: name for each in ARCHITECTURES.values() for dataset, name in each.chosen_for.items()}


def names_code(name: str) -> bool:
    """Whether `--model` names code of the user: `FILE.py:NAME` or `MODULE:NAME`."""
    return name.partition(":")[0] not in ARCHITECTURES and spelling.looks_like_code(name)


def _parse(name: str) -> tuple[Architecture, Any]:
    """The architecture of a model's full name and its option, or a sentence on what is wrong with it."""
    base, colon, option = name.partition(":")
    if base not in ARCHITECTURES:
        raise ConfigError(
            f"There is no model {name!r}{nearest(base.lower(), ARCHITECTURES)} The models are: {', '.join(MODELS)}. "
            "A model of your own is FILE.py:NAME or MODULE:NAME."
        )
    found = ARCHITECTURES[base]
    return found, found.read_option(name, option if colon else None)


def check_model_spec(name: str) -> None:
    """Raise ConfigError unless `name` is a model of `MODELS`, written in full, code of the user's that is there, or `auto`.

    No code is run.
    """
    if names_code(name):
        loading.check_code(name)
    elif name != "auto":
        _parse(name)


def _check_input(model: Architecture, inputs: Inputs, kind: str) -> None:
    name, shape = model.name, inputs.shape
    if (model.takes == "tokens") != (kind == "tokens"):
        wanted = "texts as token ids" if model.takes == "tokens" else "numbers, not token ids"
        fitting = "mlp:200,200 or lenet" if model.takes == "tokens" else "textcnn"
        raise ConfigError(f"Model {name!r} reads {wanted}, but the data is of kind {kind!r}: use --model {fitting}.")
    if model.takes == "images" and len(shape) != 3:
        raise ConfigError(
            f"Model {name!r} needs images (channels, height, width), but an example's shape is {shape}: "
            "use --model mlp:200,200 or --model linear."
        )


def _check_numbers(shape: tuple[int, ...], kind: str, num_classes: int, num_outputs: int, projection: int) -> None:
    if not num_outputs and num_classes < 2:
        raise ConfigError(f"A classifier needs at least 2 classes, but {num_classes} were given.")
    if num_outputs < 0:
        raise ConfigError(f"A model has 1 output or more, but {num_outputs} were asked for.")
    if projection < 0:
        raise ConfigError(f"A projection's size must be 0 (none) or positive, but it is {projection}.")
    if not shape or any(side < 1 for side in shape):
        raise ConfigError(f"An example's shape must be positive sizes, such as (1, 28, 28), but it is {shape}.")
    if kind not in KINDS:
        raise ConfigError(f"Data is of kind {', '.join(KINDS)}, but {kind!r} was given.")


def build(
    name: str,
    shape: tuple[int, ...],
    num_classes: int,
    *,
    kind: str = "image",
    vocabulary: int = 0,
    projection: int = 0,
    seed: int = 0,
    num_outputs: int = 0,
    source: Source | None = None,
    given: Any = None,
) -> Model:
    """A model on the CPU for examples of `shape`; its weights are a function of the arguments alone.

    `kind` is `image`, `features` or `tokens`; `vocabulary` is the number of token ids, padding included;
    `projection` > 0 puts MOON's projection of that size between body and head (never into a model of the user's, where
    `z` is the features); `num_outputs` is 0 for one output per class. `source` is the text that `name` means, where it is
    not to be read from this machine's disk; `given` is the class, function or module itself, and `name` only what it is called.
    """
    shape = tuple(shape)
    if name == "auto":
        raise ConfigError("Model 'auto' depends on the dataset: resolve it with fl_models.auto before building.")
    if given is None and source is None and not names_code(name):
        architecture, option = _parse(name)
        _check_numbers(shape, kind, num_classes, num_outputs, projection)
        inputs = Inputs(shape, vocabulary)
        _check_input(architecture, inputs, kind)
        with seeded(seed, "model"), torch.device("cpu"):
            model = Model(architecture.body(inputs, option), num_outputs or num_classes, projection)
        model.name = name
        return model
    _check_numbers(shape, kind, num_classes, num_outputs, projection)
    made_by = loading.resolve(name, source) if given is None else given
    outputs = num_outputs or num_classes
    offered = Offered(outputs, shape, outputs, vocabulary)
    with seeded(seed, "model"), torch.device("cpu"):
        return wrap(make(made_by, name, offered), example_of(shape, kind), outputs, name)


def auto(dataset_name: str, kind: str, shape: tuple[int, ...]) -> str:
    """The papers' model for the data set; for data of one's own, a small model that its kind and shape allow."""
    if kind == "tokens":
        return "textcnn"
    if len(shape) != 3:
        return "mlp:200,200"
    if dataset_name in _PAPERS:
        return _PAPERS[dataset_name]
    side = min(shape[1:])
    if side < 16:
        return "mlp:200,200"
    if side < 48:
        return "lenet"
    return "tiny-cnn" if side <= 96 else "resnet18"
