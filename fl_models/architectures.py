"""Models by name: what each is, whether it can take the data, and its initial weights as a function of the seed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import torch

from fl_config.errors import ConfigError
from fl_config.seeds import derive
from fl_models.convolutional import PLANS, convolutional_body
from fl_models.dense import dense_body, linear_body
from fl_models.model import Body, Model
from fl_models.resnet import resnet_body
from fl_models.text import WIDTHS, TextBody
from fl_models.transformer import TransformerBody

MODELS: dict[str, str] = {
    "linear": "multinomial logistic regression with a bias",
    "mlp:WIDTHS": "fully connected layers with ReLU: mlp:200,200 (FedSSG on MNIST), mlp:100 (FedSSG on EMNIST)",
    "lenet": "5x5 convolutions 6, 16 and fully connected 120, 84 (MOON, FedDisco, FedSSA)",
    "cnn64": "5x5 convolutions 64, 64 and fully connected 384, 192 (FedDyn, ASD, FedSSG)",
    "tiny-cnn": "three 3x3 convolutions 64 with GroupNorm and fully connected 512, 384 (ASD on Tiny-ImageNet)",
    "resnet18": "ResNet-18, 3x3 stem, no first pooling, GroupNorm, or BatchNorm with :bn (FedDisco, FedSSA, FedCUAU)",
    "resnet20": "ResNet-20 for 32x32 images, GroupNorm, or BatchNorm with :bn (ASD)",
    "femnist-cnn": "5x5 convolutions 32, 64 and fully connected 2048 (LEAF, FedCUAU)",
    "textcnn": "embedding and convolutions of widths 3, 4, 5 over tokens, maximum over time (FedDisco on AG News)",
    "vit": "small vision transformer: patches of 4x4, width 128, 4 blocks of 4 heads (after ASD)",
}

_NAMES = tuple(entry.partition(":")[0] for entry in MODELS)
_RESNETS = ("resnet18", "resnet20")
_KINDS = ("image", "features", "tokens")

# The model that the papers use for a dataset; where they differ, the one that a CPU can train.
_PAPERS = {
    "mnist": "mlp:200,200",
    "emnist-letters": "mlp:100",
    "fashion-mnist": "lenet",
    "cifar10": "lenet",
    "cinic10": "lenet",
    "cifar100": "cnn64",
    "tiny-imagenet": "tiny-cnn",
    "ham10000": "resnet18",
    "imagenet100": "resnet18",
    "femnist": "femnist-cnn",
}


def _parse(name: str) -> tuple[str, tuple[int, ...], bool]:
    """(model, hidden widths, batch norm) of a model's full name, or a sentence on what is wrong with it."""
    base, colon, option = name.partition(":")
    if base not in _NAMES:
        nearest = difflib.get_close_matches(base.lower(), _NAMES, n=1, cutoff=0.0)[0]
        raise ConfigError(f"There is no model {name!r}; did you mean {nearest!r}? The models are: {', '.join(MODELS)}.")
    if base == "mlp":
        widths = option.split(",")
        if not all(width.isascii() and width.isdigit() and int(width) > 0 for width in widths):
            raise ConfigError(
                f"Model {name!r}: 'mlp' takes its hidden widths as positive integers, such as mlp:200,200."
            )
        return base, tuple(int(width) for width in widths), False
    if base in _RESNETS and option == "bn":
        return base, (), True
    if colon:
        allowed = f"only 'bn', as in {base}:bn" if base in _RESNETS else "none"
        raise ConfigError(f"Model {name!r} has the option {option!r} after the colon, but {base!r} takes {allowed}.")
    return base, (), False


def check_model_spec(name: str) -> None:
    """Raise ConfigError unless `name` is a model of `MODELS`, written in full, or `auto`."""
    if name != "auto":
        _parse(name)


def _check_input(base: str, shape: Sequence[int], kind: str, vocabulary: int) -> None:
    if not shape or any(side < 1 for side in shape):
        raise ConfigError(f"An example's shape must be positive sizes, such as (1, 28, 28), but it is {tuple(shape)}.")
    if kind not in _KINDS:
        raise ConfigError(f"Data is of kind {', '.join(_KINDS)}, but {kind!r} was given.")
    if (base == "textcnn") != (kind == "tokens"):
        wanted = "texts as token ids" if base == "textcnn" else "numbers, not token ids"
        fitting = "mlp:200,200 or lenet" if base == "textcnn" else "textcnn"
        raise ConfigError(f"Model {base!r} reads {wanted}, but the data is of kind {kind!r}: use --model {fitting}.")
    if base == "textcnn" and (len(shape) != 1 or shape[0] < max(WIDTHS)):
        raise ConfigError(
            f"Model 'textcnn' needs texts of at least {max(WIDTHS)} tokens, but the shape is {tuple(shape)}."
        )
    if base == "textcnn" and vocabulary < 2:
        raise ConfigError(
            f"Model 'textcnn' needs the number of different tokens as vocabulary, but it is {vocabulary}."
        )
    if base not in ("linear", "mlp", "textcnn") and len(shape) != 3:
        raise ConfigError(
            f"Model {base!r} needs images (channels, height, width), but an example's shape is {tuple(shape)}: "
            "use --model mlp:200,200 or --model linear."
        )


def _body(name: str, shape: Sequence[int], kind: str, vocabulary: int) -> Body:
    base, widths, batch_norm = _parse(name)
    _check_input(base, shape, kind, vocabulary)
    if base == "linear":
        return linear_body(shape)
    if base == "mlp":
        return dense_body(shape, widths)
    if base in PLANS:
        return convolutional_body(base, shape)
    if base in _RESNETS:
        return resnet_body(base, shape[0], batch_norm)
    return TextBody(vocabulary) if base == "textcnn" else TransformerBody(shape)


def build(
    name: str,
    shape: tuple[int, ...],
    num_classes: int,
    *,
    kind: str = "image",
    vocabulary: int = 0,
    projection: int = 0,
    seed: int = 0,
) -> Model:
    """A model on the CPU for examples of `shape`; its weights are a function of the arguments alone.

    `kind` is `image`, `features` or `tokens`; `vocabulary` is the number of token ids, padding included;
    `projection` > 0 puts MOON's projection of that size between body and head.
    """
    if num_classes < 2:
        raise ConfigError(f"A classifier needs at least 2 classes, but {num_classes} were given.")
    if projection < 0:
        raise ConfigError(f"A projection's size must be 0 (none) or positive, but it is {projection}.")
    if name == "auto":
        raise ConfigError("Model 'auto' depends on the dataset: resolve it with fl_models.auto before building.")
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(derive(seed, "model"))
        return Model(_body(name, shape, kind, vocabulary), num_classes, projection)


def auto(dataset_name: str, kind: str, shape: tuple[int, ...]) -> str:
    """The papers' model for the dataset; for data of one's own, a small model that its kind and shape allow."""
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
