"""Models that are not like ours, by flag: without a head, with BatchNorm and dropout, from torchvision."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedloom
from fl_config.errors import ConfigError

Train = Callable[..., fedloom.Run]
HEADLESS = """
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes, shape):
        super().__init__()
        self.first = nn.Conv2d(shape[0], 8, 3, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Conv2d(8, num_classes, 3)

    def forward(self, x):
        return self.last(self.drop(self.norm(self.first(x)).relu())).mean(dim=(2, 3))
"""
RESNET = """
from torchvision.models import resnet18


def make(num_classes):
    return resnet18(num_classes=num_classes)
"""


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """One round inline in a folder of its own, on a few small images."""
    monkeypatch.chdir(tmp_path)
    Path("my_net.py").write_text(HEADLESS)
    Path("my_resnet.py").write_text(RESNET)
    random = np.random.default_rng(0)
    y = np.arange(24) % 3
    x = np.clip(random.normal(60 + 60 * y[:, None, None, None], 30, (24, 3, 32, 32)), 0, 255).astype(np.uint8)
    np.savez("images.npz", x_train=x[:18], y_train=y[:18], x_test=x[18:], y_test=y[18:])

    def run(**options: Any) -> fedloom.Run:
        usual = {"engine": "inline", "device": "cpu", "clients": 2, "partition": "iid", "rounds": 1, "batch_size": 3}
        return fedloom.run(**{**usual, "dataset": "npz:images.npz", "model": "my_net.py:Net", "out": "run", **options})

    return run


@pytest.mark.parametrize(
    ("strategy", "part"), [("fedper", "per"), ("moon", "moon"), ("fedcuau", "cuau"), ("feddecorr", "decorr")]
)
def test_methods_that_need_a_head_are_refused_by_name(train: Train, strategy: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        train(strategy=strategy)
    sentence = str(caught.value)
    assert sentence.startswith(
        f"The strategy {strategy!r} has {part!r}, which needs a last fully connected layer, and "
    )
    assert "my_net.py:Net" in sentence and sentence.endswith(f"choose a strategy without {part!r}.")
    assert not Path("run/metrics.jsonl").exists()


@pytest.mark.parametrize("strategy", ["fedavg", "scaffold+disco"])
def test_others_train_a_model_without_a_head(train: Train, strategy: str) -> None:
    run = train(strategy=strategy, rounds=3, lr=0.2)
    assert run.metrics[-1]["dropped"] == [] and run.metrics[-1]["global/loss"] < run.metrics[0]["global/loss"]
    assert run.model["norm.num_batches_tracked"] == 3 * 3  # rounds, and batches of 3 in the 9 images of a client
    assert json.loads(Path("run/model.json").read_text())["head"] == []


def test_a_resnet_of_torchvision(train: Train) -> None:
    run = train(model="my_resnet.py:make", lr=0.01)
    assert run.metrics[-1]["dropped"] == [] and np.isfinite(run.metrics[-1]["global/loss"])
    assert run.model["fc.weight"].shape == (3, 512) and run.model["bn1.num_batches_tracked"] == 3
    words = json.loads(Path("run/model.json").read_text())
    assert words["name"] == "my_resnet.py:make" and words["head"] == ["fc.weight", "fc.bias"]
    assert Path("run/sources/my_resnet.py").read_text() == RESNET
