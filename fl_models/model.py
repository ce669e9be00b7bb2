"""What every model of the project is: a body that makes features, perhaps a projection, a head that makes logits."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from torch import Tensor, nn


class Outputs(NamedTuple):
    """One pass through a model; `z` is the projection where the model has one, otherwise the features themselves.

    A model without a head has no features either: all three are its logits there.
    """

    features: Tensor
    z: Tensor
    logits: Tensor


class Body(nn.Module):
    """The part of a model before its last fully connected layer.

    `width` is the size of a feature vector; `trunk_end` names the children that FedCUAU counts to a cluster's head.
    """

    width: int
    trunk_end: tuple[str, ...] = ()


class SequentialBody(nn.Sequential, Body):
    """A body of named layers, one after the other."""

    def __init__(self, layers: dict[str, nn.Module], width: int, trunk_end: tuple[str, ...] = ()) -> None:
        super().__init__(OrderedDict(layers))
        self.width = width
        self.trunk_end = trunk_end


class Model(nn.Module):
    """logits = head(projection(body(x))); names in the state dict start with `body.`, `projection.` or `head.`.

    `default_trunk_end` are the modules that FedCUAU trains per cluster: the last residual
    block or the last convolution, and everything after it. `name` is how `--model` spells it.
    """

    has_head: bool = True  # False for another's module that does not end with an nn.Linear
    channels_last: bool = True  # how the weights of convolutions lie in memory, and the images that the model is given
    name: str = ""
    body: nn.Module
    projection: nn.Module | None
    head: nn.Module
    default_trunk_end: tuple[str, ...]

    def __init__(self, body: Body, num_outputs: int, projection: int = 0) -> None:
        super().__init__()
        self.body = body
        self.projection = projection_head(body.width, projection) if projection else None
        self.head = nn.Linear(projection or body.width, num_outputs)
        after_body = ("projection", "head") if projection else ("head",)
        self.default_trunk_end = (*(f"body.{name}" for name in body.trunk_end), *after_body)

    def outputs(self, x: Tensor) -> Outputs:
        features = self.body(x)
        z = features if self.projection is None else self.projection(features)
        return Outputs(features, z, self.head(z))

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs(x).logits

    def features(self, x: Tensor) -> Tensor:
        features: Tensor = self.body(x)
        return features

    def head_names(self) -> list[str]:
        """Names of the head's parameters, in the order of `named_parameters`; none where there is no head."""
        of_head = {id(parameter) for parameter in self.head.parameters()}
        return [name for name, parameter in self.named_parameters() if id(parameter) in of_head]


def projection_head(width: int, out: int) -> nn.Sequential:
    """MOON's projection: two fully connected layers, width -> width -> out, with a ReLU between them."""
    layers = OrderedDict(fc1=nn.Linear(width, width), relu=nn.ReLU(inplace=True), fc2=nn.Linear(width, out))
    return nn.Sequential(layers)
