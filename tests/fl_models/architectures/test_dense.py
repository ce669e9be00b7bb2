"""Fully connected bodies: their layers, and where the trunk of clusters ends."""

from __future__ import annotations

import torch
from torch import nn

from fl_models.architectures.dense import dense_body, linear_body
from fl_models.declaration import Inputs


def test_a_linear_models_features_are_its_input() -> None:
    body, x = linear_body(Inputs((1, 2, 3)), None), torch.randn(4, 1, 2, 3)
    assert body.width == 6 and not list(body.parameters())
    assert torch.equal(body(x), x.flatten(1))


def test_layers_follow_each_other_with_a_relu_after_each() -> None:
    body, x = dense_body(Inputs((2, 3)), (5, 4)), torch.randn(7, 2, 3)
    first, second = body.get_submodule("fc1"), body.get_submodule("fc2")
    assert isinstance(first, nn.Linear) and isinstance(second, nn.Linear)
    expected = torch.relu(second(torch.relu(first(x.flatten(1)))))
    assert torch.equal(body(x), expected) and body.width == 4
    assert body.trunk_end == ("fc2",)
    assert dense_body(Inputs((2, 3)), (5,)).trunk_end == (), "clusters would share nothing"
