"""Residual networks: their norms and their shortcuts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fl_models import build


def test_only_bn_models_have_buffers() -> None:
    assert not list(build("resnet18", (3, 8, 8), 3).buffers())
    assert "body.norm1.running_mean" in build("resnet20:bn", (3, 8, 8), 3).state_dict()


@pytest.mark.parametrize(("name", "groups", "layers"), [("resnet18", 2, 20), ("resnet20", 2, 19), ("tiny-cnn", 4, 3)])
def test_group_norms(name: str, groups: int, layers: int) -> None:
    norms = [layer for layer in build(name, (3, 8, 8), 3).modules() if isinstance(layer, nn.GroupNorm)]
    assert [norm.num_groups for norm in norms] == [groups] * layers


def test_zero_padding_shortcut_of_resnet20() -> None:
    block = build("resnet20", (3, 8, 8), 3).body.get_submodule("layer2.0")
    x = torch.randn(2, 16, 7, 7)
    short = block.get_submodule("shortcut")(x)
    assert torch.equal(short[:, :16], x[:, :, ::2, ::2])
    assert short.shape == (2, 32, 4, 4) and not short[:, 16:].any()
