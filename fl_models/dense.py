"""Models without convolutions: logistic regression and perceptrons (FedSSG A.1.1: 200,200 MNIST, 100 EMNIST)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

from fl_models.model import SequentialBody


def linear_body(shape: Sequence[int]) -> SequentialBody:
    """No parameters: the features are the input itself, so that the head alone is the model."""
    return SequentialBody({"flatten": nn.Flatten()}, width=math.prod(shape))


def dense_body(shape: Sequence[int], widths: Sequence[int]) -> SequentialBody:
    """Fully connected layers of the given widths, a ReLU after each."""
    layers: dict[str, nn.Module] = {"flatten": nn.Flatten()}
    inputs = math.prod(shape)
    for number, width in enumerate(widths, start=1):
        layers[f"fc{number}"] = nn.Linear(inputs, width)
        layers[f"relu{number}"] = nn.ReLU(inplace=True)
        inputs = width
    # With one hidden layer the trunk would be empty and clusters would share nothing, so there it stays in the trunk.
    return SequentialBody(layers, width=inputs, trunk_end=(f"fc{len(widths)}",) if len(widths) > 1 else ())
