"""Modules as other people write them: `.view` after a convolution, BatchNorm, dropout, LSTM, no head."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_data import Samples, import_torchvision

CIFAR = SimpleNamespace(kind="image", mean=(0.49, 0.48, 0.45), std=(0.25, 0.24, 0.26), flips=True)
RNG = np.random.default_rng(3)


class Quickstart(nn.Module):
    """The model of Flower's quickstart-pytorch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        out: Tensor = self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))
        return out


class Convolutional(nn.Module):
    """Ends with a convolution and a mean over the image: there is no final nn.Linear."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Conv2d(8, 10, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.norm(self.first(x)).relu()).mean(dim=(2, 3))
        return out


class Recurrent(nn.Module):
    """Rows of the image as a sequence; an nn.Linear before the recurrent layer that is no head."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs = nn.Linear(96, 16)
        self.cell = nn.LSTM(16, 10, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        _, (state, _) = self.cell(self.inputs(x.permute(0, 2, 1, 3).reshape(len(x), 32, 96)))
        out: Tensor = state[0]
        return out


class Dropping(nn.Module):
    """Draws by F.dropout, which no list of layers shows."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(3072, 20)
        self.fc2 = nn.Linear(20, 10)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(F.dropout(self.fc1(x.flatten(1)).relu(), 0.5, self.training))
        return out


def resnet18() -> nn.Module:
    module: nn.Module = import_torchvision().models.resnet18(num_classes=10)
    return module


def samples(count: int = 12) -> Samples:
    images = RNG.integers(0, 256, size=(count, 3, 32, 32)).astype(np.uint8)
    return Samples(images, RNG.integers(0, 10, size=count), CIFAR)


def step(module: nn.Module, x: Tensor, y: Tensor, lr: float) -> None:
    """One step of plain PyTorch, on the batch as plain PyTorch would have it."""
    optimizer = torch.optim.SGD(module.parameters(), lr=lr)
    optimizer.zero_grad()
    F.cross_entropy(module(x.contiguous()), y).backward()
    optimizer.step()
