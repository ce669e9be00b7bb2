"""Every model in a small size, one batch for it, and parameters counted by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def conv(inputs: int, outputs: int, kernel: int) -> int:
    return inputs * outputs * kernel * kernel + outputs


def fc(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


SMALL: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("linear", (1, 8, 8), {}),
    ("mlp:16,12", (20,), {"kind": "features"}),
    ("lenet", (1, 8, 8), {}),
    ("lenet", (3, 17, 20), {}),
    ("cnn64", (1, 12, 12), {}),
    ("tiny-cnn", (3, 8, 8), {}),
    ("resnet18", (3, 8, 8), {}),
    ("resnet18:bn", (3, 8, 8), {}),
    ("resnet20", (1, 9, 9), {}),
    ("resnet20:bn", (3, 8, 8), {}),
    ("femnist-cnn", (1, 8, 8), {}),
    ("textcnn", (12,), {"kind": "tokens", "vocabulary": 30}),
    ("vit", (1, 28, 28), {}),
    ("lenet", (1, 28, 28), {"projection": 32}),
    ("mlp:10", (5,), {"kind": "features", "projection": 4}),
]
IDS = [
    f"{name}-{'x'.join(map(str, shape))}{'-projection' if 'projection' in more else ''}" for name, shape, more in SMALL
]


def batch(name: str, shape: tuple[int, ...], examples: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(examples) % 3
    if name == "textcnn":
        return torch.randint(0, 30, (examples, *shape), generator=generator), labels
    return torch.randn((examples, *shape), generator=generator), labels
