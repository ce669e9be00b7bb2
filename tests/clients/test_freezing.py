"""Frozen parts of a model: no gradients, no new statistics, and everything as before afterwards."""

from __future__ import annotations

import torch
from torch import nn

from clients import LocalClient
from clients.freezing import frozen
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel
from tests.clients.mlp_client import X, Y


def test_a_frozen_trunk_keeps_its_statistics_and_gets_no_gradients() -> None:
    flat = FlatModel(build("resnet20:bn", (3, 8, 8), 3, seed=0))
    trainable = flat.mask(flat.model.default_trunk_end).float()
    before = {name: value.clone() for name, value in flat.model.state_dict().items()}
    x = torch.randn(4, 3, 8, 8)
    with frozen(flat, trainable):
        flat.zero_grad()
        flat.model(x).sum().backward()
        assert flat.grad[trainable == 0].abs().max() == 0
        assert flat.grad[trainable == 1].abs().max() > 0
    moved = {name for name, value in flat.model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and all(name.startswith("body.layer3.") for name in moved)
    assert flat.model.training and all(m.training for m in flat.model.modules())
    assert all(p.requires_grad for p in flat.model.parameters())


def test_a_module_without_parameters_is_frozen_with_the_one_before_it() -> None:
    layers = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.Linear(4, 3), nn.Dropout(0.5))
    one = LocalClient(layers, Samples(X, Y), 3)
    trainable = one.flat.mask(["2.weight", "2.bias"]).float()
    with frozen(one.flat, trainable):
        assert [layer.training for layer in layers] == [False, False, True, True]
