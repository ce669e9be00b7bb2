"""What a model is: body, projection and head compose; it learns one batch; its trunk ends at parts that it has."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from fl_models import MODELS, build
from fl_models.flat import FlatModel
from tests.fl_models.architectures.every_model import IDS, SMALL, batch, count, fc


def test_projection_is_two_layers_before_the_head() -> None:
    model = build("lenet", (1, 28, 28), 10, projection=256)
    assert model.projection is not None
    assert count(model.projection) == fc(84, 84) + fc(84, 256)
    assert count(model.head) == fc(256, 10)


def test_every_model_is_tried_below() -> None:
    assert {name.partition(":")[0] for name, _, _ in SMALL} == {name.partition(":")[0] for name in MODELS}


@pytest.mark.parametrize(("name", "shape", "more"), SMALL, ids=IDS)
def test_body_projection_and_head_compose_to_forward(name: str, shape: tuple[int, ...], more: dict[str, Any]) -> None:
    model = build(name, shape, 3, **more).eval()
    x, _ = batch(name, shape)
    out = model.outputs(x)
    assert out.logits.shape == (6, 3)
    assert torch.equal(out.features, model.body(x)) and torch.equal(out.features, model.features(x))
    assert torch.equal(out.z, model.projection(out.features) if model.projection else out.features)
    assert torch.equal(out.logits, model.head(out.z)) and torch.equal(out.logits, model(x))
    assert model.head_names() == ["head.weight", "head.bias"]
    assert all(key.split(".")[0] in ("body", "projection", "head") for key in model.state_dict())


@pytest.mark.parametrize(("name", "shape", "more"), SMALL, ids=IDS)
def test_a_few_steps_lower_the_loss(name: str, shape: tuple[int, ...], more: dict[str, Any]) -> None:
    flat = FlatModel(build(name, shape, 3, **more))
    x, y = batch(name, shape)
    # A residual network's features have a norm above 20 here, so that larger steps than this overshoot.
    rate, steps = (0.002, 4) if name.startswith("resnet") else (0.05, 8)
    losses = []
    for _ in range(steps):
        flat.zero_grad()
        loss = F.cross_entropy(flat.model(x), y)
        loss.backward()
        flat.theta.add_(flat.grad, alpha=-rate)
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1e-3


@pytest.mark.parametrize(("name", "shape", "more"), SMALL, ids=IDS)
def test_trunk_end_names_parts_of_the_model(name: str, shape: tuple[int, ...], more: dict[str, Any]) -> None:
    model = build(name, shape, 3, **more)
    names = [parameter for parameter, _ in model.named_parameters()]
    assert model.default_trunk_end[-1] == "head"
    for prefix in model.default_trunk_end:
        assert any(parameter.startswith(f"{prefix}.") for parameter in names)


def test_trunk_ends_of_fedcuau() -> None:
    ends = {
        name: build(name, (3, 32, 32), 10).default_trunk_end for name in ("resnet18", "lenet", "femnist-cnn", "vit")
    }
    assert ends["resnet18"] == ("body.layer4", "head")
    assert ends["lenet"] == ("body.conv2", "body.fc1", "body.fc2", "head")
    assert ends["femnist-cnn"] == ("body.conv2", "body.fc1", "head")
    assert ends["vit"] == ("body.blocks.3", "body.norm", "head")
    tiny = build("tiny-cnn", (3, 8, 8), 10, projection=4).default_trunk_end
    assert tiny == ("body.conv3", "body.norm3", "body.fc1", "body.fc2", "projection", "head")
    assert build("mlp:9,8", (4,), 3).default_trunk_end == ("body.fc2", "head")
    assert build("mlp:9", (4,), 3).default_trunk_end == ("head",)
