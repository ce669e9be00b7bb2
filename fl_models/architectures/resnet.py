"""Residual networks (He et al., CVPR 2016) as the federated papers use them: for small images, with GroupNorm.

`resnet18`  FedDisco (B.1.4), FedSSA (B.3), FedCUAU: 3x3 stem, no first pooling, widths 64 128 256 512, two blocks each,
            1x1 convolutions on the shortcuts that change shape.
`resnet20`  ASD (A.4), He et al. section 4.2: widths 16 32 64, three blocks each, and shortcuts without parameters:
            every second pixel, missing channels zero.
GroupNorm has 2 groups, as in FedDyn's models; `:bn` after the name gives BatchNorm instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from fl_models.declaration import Inputs, architecture, one_option
from fl_models.model import SequentialBody

GROUPS = 2
Norm = Callable[[int], nn.Module]


def group_norm(channels: int) -> nn.Module:
    return nn.GroupNorm(GROUPS, channels)


class PadShortcut(nn.Module):
    """The parameter-free shortcut: every `stride`-th pixel, the missing channels zero."""

    def __init__(self, missing: int, stride: int) -> None:
        super().__init__()
        self.missing, self.stride = missing, stride

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.missing))


def convolution_shortcut(inputs: int, outputs: int, stride: int, norm: Norm) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), norm(outputs))


def pad_shortcut(inputs: int, outputs: int, stride: int, norm: Norm) -> nn.Module:
    return PadShortcut(outputs - inputs, stride)


Shortcut = Callable[[int, int, int, Norm], nn.Module]


class Block(nn.Module):
    """relu(x + norm(conv(relu(norm(conv(x)))))), with a shortcut in place of x where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: Norm, shortcut: Shortcut) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = norm(outputs)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else shortcut(inputs, outputs, stride, norm)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu_()))
        total: Tensor = inner + self.shortcut(x)
        return total.relu_()


@architecture(
    "resnet18",
    "ResNet-18, 3x3 stem, no first pooling, GroupNorm, or BatchNorm with :bn (FedDisco, FedSSA, FedCUAU)",
    takes="images",
    option=one_option("bn"),
    chosen_for={"ham10000": "resnet18", "imagenet100": "resnet18"},
)
def resnet18(inputs: Inputs, batch_norm: bool) -> SequentialBody:
    return resnet_body(inputs.shape[0], (64, 128, 256, 512), 2, convolution_shortcut, batch_norm)


@architecture(
    "resnet20",
    "ResNet-20 for 32x32 images, GroupNorm, or BatchNorm with :bn (ASD)",
    takes="images",
    option=one_option("bn"),
)
def resnet20(inputs: Inputs, batch_norm: bool) -> SequentialBody:
    return resnet_body(inputs.shape[0], (16, 32, 64), 3, pad_shortcut, batch_norm)


def resnet_body(
    channels: int, widths: Sequence[int], depth: int, shortcut: Shortcut, batch_norm: bool
) -> SequentialBody:
    norm: Norm = nn.BatchNorm2d if batch_norm else group_norm
    inputs = widths[0]
    layers: dict[str, nn.Module] = {
        "conv1": nn.Conv2d(channels, inputs, 3, padding=1, bias=False),
        "norm1": norm(inputs),
        "relu": nn.ReLU(inplace=True),
    }
    for number, width in enumerate(widths, start=1):
        first = Block(inputs, width, 1 if number == 1 else 2, norm, shortcut)
        layers[f"layer{number}"] = nn.Sequential(
            first, *(Block(width, width, 1, norm, shortcut) for _ in range(depth - 1))
        )
        inputs = width
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    body = SequentialBody(layers, width=inputs, trunk_end=(f"layer{len(widths)}",))
    for module in body.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return body
