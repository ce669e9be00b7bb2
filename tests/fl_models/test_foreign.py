"""wrap(): other people's modules keep their names and weights and gain a body, a head and features."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_models import build, wrap
from fl_models.flat import FlatModel

torch.set_num_threads(1)


class Theirs(nn.Module):
    """Has attributes called as ours are, dropout by its own flag, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Conv2d(1, 4, 3)
        self.body = nn.Conv2d(4, 4, 3)
        self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(self.features(x).relu()).mean(dim=(2, 3)) * self.scale
        out: Tensor = self.head(F.dropout(x, 0.5, training=self.training))
        return out


def test_sequential() -> None:
    theirs = nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 3))
    model = wrap(theirs)
    x = torch.randn(2, 1, 4, 4)
    out = model.outputs(x)
    assert list(model.state_dict()) == list(theirs.state_dict()) == ["1.weight", "1.bias", "3.weight", "3.bias"]
    assert model.head is theirs[3] and model.head_names() == ["3.weight", "3.bias"]
    assert torch.equal(out.features, theirs[:3](x)) and torch.equal(out.z, out.features)
    assert torch.equal(out.logits, theirs(x)) and torch.equal(model(x), theirs(x))
    assert torch.equal(model.head(model.body(x)), out.logits) and torch.equal(model.features(x), out.features)
    assert model.projection is None and model.default_trunk_end == ("3",)


def test_custom_module_with_names_like_ours() -> None:
    theirs = Theirs()
    model = wrap(theirs).eval()
    assert list(model.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert model.head_names() == ["head.2.weight", "head.2.bias"]
    assert model.default_trunk_end == ("body", "head.0", "head.2")
    x = torch.randn(2, 1, 8, 8)
    out = model.outputs(x)
    assert out.features.shape == (2, 8) and torch.equal(out.logits, theirs(x))
    assert not theirs.training and model.train().training and theirs.training
    assert len(theirs.head[2]._forward_pre_hooks) == 0


def test_gradients_flow_through_captured_features_into_the_flat_vector() -> None:
    flat = FlatModel(wrap(Theirs()))
    flat.model.outputs(torch.randn(2, 1, 8, 8)).features.sum().backward()
    assert flat.grad[flat.mask(["features", "body"])].abs().sum() > 0
    assert flat.grad[flat.mask(flat.model.head_names())].abs().sum() == 0


def test_copies_are_independent() -> None:
    model = wrap(Theirs()).eval()
    x = torch.randn(2, 1, 8, 8)
    before = model(x).detach().clone()
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1.0)
    assert torch.equal(model(x), before) and not torch.equal(twin(x), before)
    assert torch.equal(twin.body(x), twin.outputs(x).features)
    assert twin.head_names() == model.head_names()


def test_training_a_wrapped_module_trains_the_module() -> None:
    theirs = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3))
    flat = FlatModel(wrap(theirs))
    x, y = torch.randn(6, 1, 4, 4), torch.arange(6) % 3
    first = F.cross_entropy(theirs(x), y).item()
    for _ in range(10):
        flat.zero_grad()
        F.cross_entropy(flat.model(x), y).backward()
        flat.theta.add_(flat.grad, alpha=-0.1)
    assert F.cross_entropy(theirs(x), y).item() < first - 1e-2


def test_a_single_linear_layer() -> None:
    model = wrap(nn.Linear(4, 3))
    assert model.head_names() == ["weight", "bias"] == list(model.default_trunk_end)
    assert int(FlatModel(model).mask(model.default_trunk_end).sum()) == 15
    x = torch.randn(2, 4)
    assert torch.equal(model.outputs(x).features, x)


def test_our_own_models_stay_as_they_are() -> None:
    model = build("lenet", (1, 28, 28), 10)
    assert wrap(model) is model


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(4, 3)
        self.forgotten = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.used(x)
        return out


class Pair(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return (super().forward(x), x)  # type: ignore[return-value]


def test_modules_that_cannot_be_wrapped_are_sentences() -> None:
    assert not wrap(nn.Sequential(nn.Conv2d(1, 1, 1))).has_head  # works, but not with methods that need a head
    with pytest.raises(ValueError, match="lazy layers"):
        wrap(nn.Sequential(nn.LazyLinear(3)))
    with pytest.raises(ValueError, match="was not called"):
        wrap(Unused()).outputs(torch.randn(1, 4))
    with pytest.raises(ValueError, match="returned tuple"):
        wrap(Pair(4, 3))(torch.randn(1, 4))
