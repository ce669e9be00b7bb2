"""A model in a file of the user's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes, shape):
        super().__init__()
        self.conv = nn.Conv2d(shape[0], 4, 3)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.LazyLinear(num_classes)

    def forward(self, x):
        x = self.conv(x).relu()
        return self.fc(self.drop(x.view(len(x), -1)))
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_net.py").write_text(NET)
    return "my_net.py:Net"
