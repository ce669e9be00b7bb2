"""Models without convolutions: logistic regression and perceptrons (FedSSG A.1.1: 200,200 MNIST, 100 EMNIST)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

from fl_config.errors import ConfigError
from fl_models.declaration import Inputs, architecture
from fl_models.model import SequentialBody


@architecture("linear", "multinomial logistic regression with a bias", takes="numbers")
def linear_body(inputs: Inputs, option: None) -> SequentialBody:
    """No parameters: the features are the input itself, so that the head alone is the model."""
    return SequentialBody({"flatten": nn.Flatten()}, width=math.prod(inputs.shape))


def widths_of(name: str, option: str | None) -> tuple[int, ...]:
    widths = (option or "").split(",")
    if not all(width.isascii() and width.isdigit() and int(width) > 0 for width in widths):
        raise ConfigError(f"Model {name!r}: 'mlp' takes its hidden widths as positive integers, such as mlp:200,200.")
    return tuple(int(width) for width in widths)


@architecture(
    "mlp",
    "fully connected layers with ReLU: mlp:200,200 (FedSSG on MNIST), mlp:100 (FedSSG on EMNIST)",
    takes="numbers",
    written="mlp:WIDTHS",
    option=widths_of,
    chosen_for={"mnist": "mlp:200,200", "emnist-letters": "mlp:100"},
)
def dense_body(inputs: Inputs, widths: Sequence[int]) -> SequentialBody:
    """Fully connected layers of the given widths, a ReLU after each."""
    layers: dict[str, nn.Module] = {"flatten": nn.Flatten()}
    size = math.prod(inputs.shape)
    for number, width in enumerate(widths, start=1):
        layers[f"fc{number}"] = nn.Linear(size, width)
        layers[f"relu{number}"] = nn.ReLU(inplace=True)
        size = width
    # With one hidden layer the trunk would be empty and clusters would share nothing, so there it stays in the trunk.
    return SequentialBody(layers, width=size, trunk_end=(f"fc{len(widths)}",) if len(widths) > 1 else ())
