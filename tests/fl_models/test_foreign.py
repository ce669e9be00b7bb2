"""wrap(): other people's modules keep their names and weights, gain a body, a head and features, and train as in plain PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_config.seeds import seeded
from fl_data import Samples
from fl_models import build, wrap
from fl_models.flat import FlatModel, load_buffers, state_to_vector, vector_to_state
from tests.fl_models.architectures.foreign_modules import (
    RNG,
    Convolutional,
    Dropping,
    Quickstart,
    Recurrent,
    resnet18,
    samples,
    step,
)

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


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [(Quickstart, 1e-6), (Convolutional, 1e-6), (Recurrent, 1e-6), (Dropping, 1e-6), (resnet18, 1e-5)],
)
def test_a_step_is_that_of_plain_pytorch(make: Callable[[], nn.Module], tolerance: float) -> None:
    theirs = make()
    plain = copy.deepcopy(theirs)
    x, y = samples().batch(slice(0, 12))
    assert y is not None and not x.is_contiguous()
    flat = FlatModel(wrap(theirs, x[:2]))
    before = flat.vector()
    with seeded(1, "draws"):
        step(plain, x, y, 0.05)
    with seeded(1, "draws"):
        flat.zero_grad()
        F.cross_entropy(flat.model.outputs(x).logits, y).backward()
        flat.theta.add_(flat.grad, alpha=-0.05)
    expected = {name: value.numpy() for name, value in plain.state_dict().items()}
    assert np.abs(state_to_vector(expected, flat.names) - before).max() > 1e-3
    np.testing.assert_allclose(flat.vector(), state_to_vector(expected, flat.names), atol=tolerance)
    for name, value in flat.buffers().items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6)


def test_weights_and_batches_are_contiguous_for_other_peoples_modules() -> None:
    flat = FlatModel(wrap(Quickstart()))
    assert flat.model.get_parameter("conv2.weight").is_contiguous()
    x, _ = samples(2).batch(slice(0, 2))
    seen: list[bool] = []
    flat.model.get_submodule("conv1").register_forward_pre_hook(lambda _, given: seen.append(given[0].is_contiguous()))
    flat.model(x)
    assert seen == [True]


def test_one_channel_is_contiguous_too() -> None:
    class Grey(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 6, 3)
            self.fc = nn.Linear(6 * 36, 10)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.fc(self.conv(x).view(len(x), 6 * 36))
            return out

    about = SimpleNamespace(kind="image", mean=(0.5,), std=(0.25,), flips=False)
    data = Samples(RNG.integers(0, 256, size=(4, 1, 8, 8)).astype(np.uint8), np.arange(4), about)
    x, _ = data.batch(torch.arange(4))
    assert x.is_contiguous() and x.stride() != torch.empty(x.shape).stride()
    module = Grey()
    assert torch.equal(wrap(module, x)(x), module(torch.clone(x, memory_format=torch.contiguous_format)))


def test_a_headless_module_is_wrapped_without_an_example_too() -> None:
    model = wrap(Convolutional())
    assert not model.has_head and model.head_names() == [] and model.default_trunk_end == ("last",)
    twin = copy.deepcopy(model)
    assert not twin.has_head and twin.channels_last is False


class Tied(nn.Module):
    """An autoencoder's trick and a layer that is used under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(4)
        self.again = self.norm
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.again(self.second(self.norm(self.first(x)).relu())))
        return out


def test_tied_weights_travel_once_and_stay_tied() -> None:
    theirs = Tied()
    plain = copy.deepcopy(theirs)
    model = wrap(theirs)
    flat = FlatModel(model)
    tied = {"second.weight", *(name for name in theirs.state_dict() if name.startswith("again."))}
    assert theirs.state_dict().keys() - model.state_dict().keys() == tied
    assert {*flat.names, *flat.buffers()} == set(model.state_dict())
    x, y = torch.randn(6, 4), torch.arange(6) % 3
    step(plain, x, y, 0.1)
    flat.zero_grad()
    F.cross_entropy(model(x), y).backward()
    flat.theta.add_(flat.grad, alpha=-0.1)
    torch.testing.assert_close(theirs.state_dict(), plain.state_dict())
    other = FlatModel(wrap(Tied()))
    other.load(flat.vector())
    load_buffers(other, {name: value.numpy() for name, value in flat.buffers().items()})
    torch.testing.assert_close(dict(other.model.state_dict()), dict(model.state_dict()), rtol=0, atol=0)
    assert other.model.get_submodule("second").weight is other.model.get_submodule("first").weight
    fresh = wrap(Tied())
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(dict(fresh.state_dict()), dict(model.state_dict()), rtol=0, atol=0)


def test_a_torchvision_model_goes_over_the_wire_and_back() -> None:
    model, other = wrap(resnet18()), FlatModel(wrap(resnet18()))
    flat = FlatModel(model)
    model(samples(4).batch(slice(0, 4))[0])
    arrays = {
        **vector_to_state(flat.vector(), flat.shapes),
        **{name: value.numpy() for name, value in flat.buffers().items()},
    }
    assert arrays.keys() == model.state_dict().keys() and len(flat.buffers()) == 60
    other.load(state_to_vector(arrays, other.names))
    load_buffers(other, {name: value for name, value in arrays.items() if name not in other.names})
    x = samples(3).batch(slice(0, 3))[0]
    assert torch.equal(model.eval()(x), other.model.eval()(x))
