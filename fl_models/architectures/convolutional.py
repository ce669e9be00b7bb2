"""The papers' plain convolutional networks, all of one form: convolutions with pooling, then fully connected layers.

`lenet`        MOON, FedDisco (B.1.4), FedSSA (B.3): 5x5 convolutions 6, 16; fully connected 120, 84, C.
`cnn64`        FedDyn, ASD (Table 5), FedSSG (A.1.2): 5x5 convolutions 64, 64; fully connected 384, 192, C.
`tiny-cnn`     ASD (Table 5, Tiny-ImageNet): three 3x3 convolutions 64, GroupNorm(4, 64); fully connected 512, 384, C.
               The printed 4096 inputs of the first layer mean padding 1 on 64x64 images.
`femnist-cnn`  LEAF, used by FedCUAU: 5x5 convolutions 32, 64 with padding; fully connected 2048, C.

Deviation: where an image is too small for unpadded 5x5 convolutions (below 16x16), `lenet` and `cnn64` pad them by 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from fl_config.errors import ConfigError
from fl_models.declaration import Inputs, architecture
from fl_models.model import SequentialBody


@dataclass(frozen=True)
class Plan:
    """A network's convolutions and hidden layers; `groups` is that of GroupNorm, 0 for no normalisation."""

    channels: tuple[int, ...]
    kernel: int
    hidden: tuple[int, ...]
    padded: bool = False
    groups: int = 0

    def side(self, pixels: int, padding: int) -> int:
        """Pixels along one side after every convolution and pooling; 0 when the image is too small."""
        for _ in self.channels:
            pixels = max(0, pixels + 2 * padding - self.kernel + 1) // 2
        return pixels


@architecture(
    "lenet",
    "5x5 convolutions 6, 16 and fully connected 120, 84 (MOON, FedDisco, FedSSA)",
    takes="images",
    chosen_for={"fashion-mnist": "lenet", "cifar10": "lenet", "cinic10": "lenet"},
)
def lenet(inputs: Inputs, option: None) -> SequentialBody:
    return convolutional_body("lenet", Plan(channels=(6, 16), kernel=5, hidden=(120, 84)), inputs)


@architecture(
    "cnn64",
    "5x5 convolutions 64, 64 and fully connected 384, 192 (FedDyn, ASD, FedSSG)",
    takes="images",
    chosen_for={"cifar100": "cnn64"},
)
def cnn64(inputs: Inputs, option: None) -> SequentialBody:
    return convolutional_body("cnn64", Plan(channels=(64, 64), kernel=5, hidden=(384, 192)), inputs)


@architecture(
    "tiny-cnn",
    "three 3x3 convolutions 64 with GroupNorm and fully connected 512, 384 (ASD on Tiny-ImageNet)",
    takes="images",
    chosen_for={"tiny-imagenet": "tiny-cnn"},
)
def tiny_cnn(inputs: Inputs, option: None) -> SequentialBody:
    plan = Plan(channels=(64, 64, 64), kernel=3, hidden=(512, 384), padded=True, groups=4)
    return convolutional_body("tiny-cnn", plan, inputs)


@architecture(
    "femnist-cnn",
    "5x5 convolutions 32, 64 and fully connected 2048 (LEAF, FedCUAU)",
    takes="images",
    chosen_for={"femnist": "femnist-cnn"},
)
def femnist_cnn(inputs: Inputs, option: None) -> SequentialBody:
    return convolutional_body("femnist-cnn", Plan(channels=(32, 64), kernel=5, hidden=(2048,), padded=True), inputs)


def convolutional_body(name: str, plan: Plan, inputs: Inputs) -> SequentialBody:
    """(convolution, norm if any, 2x2 max-pooling, ReLU) for each of the channels, then (fully connected, ReLU)."""
    channels, height, width = inputs.shape
    padding = plan.kernel // 2 if plan.padded or not plan.side(min(height, width), padding=0) else 0
    pixels = plan.side(height, padding) * plan.side(width, padding)
    if not pixels:
        least = 2 ** len(plan.channels)
        raise ConfigError(
            f"Model {name!r} needs images of at least {least}x{least} pixels, but they are {height}x{width}: "
            "use larger images or --model mlp:200,200."
        )
    layers: dict[str, nn.Module] = {}
    for number, out in enumerate(plan.channels, start=1):
        layers[f"conv{number}"] = nn.Conv2d(channels, out, plan.kernel, padding=padding)
        if plan.groups:
            layers[f"norm{number}"] = nn.GroupNorm(plan.groups, out)
        # Maximum and ReLU commute exactly, gradients too; after the pooling the ReLU has a quarter of the work.
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        layers[f"relu{number}"] = nn.ReLU(inplace=True)
        channels = out
    layers["flatten"] = nn.Flatten()
    size = channels * pixels
    for number, out in enumerate(plan.hidden, start=1):
        layers[f"fc{number}"] = nn.Linear(size, out)
        layers[f"fc{number}_relu"] = nn.ReLU(inplace=True)
        size = out
    names = list(layers)
    from_last_convolution = names[names.index(f"conv{len(plan.channels)}") :]
    trunk_end = tuple(name for name in from_last_convolution if list(layers[name].parameters()))
    return SequentialBody(layers, width=size, trunk_end=trunk_end)
