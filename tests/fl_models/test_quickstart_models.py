"""Modules as other people write them train here as in plain PyTorch: `.view` after a convolution, BatchNorm, dropout, LSTM, no head."""

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
from fl_data import Samples, import_torchvision
from fl_models import wrap
from fl_models.flat import FlatModel, buffers, load_buffers, shapes, state_to_vector, vector_to_state

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
    for name, value in buffers(flat.model).items():
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


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (Quickstart, ["fc3.weight", "fc3.bias"]),
        (resnet18, ["fc.weight", "fc.bias"]),
        (Convolutional, []),
        (Recurrent, []),
    ],
)
def test_the_head_is_what_the_pass_calls_last(make: Callable[[], nn.Module], names: list[str]) -> None:
    x, _ = samples(3).batch(slice(0, 3))
    model = wrap(make(), x, 10).eval()
    assert model.head_names() == names and model.has_head == bool(names)
    out = model.outputs(x)
    assert torch.equal(model.head(out.features), out.logits)
    assert torch.equal(out.logits, model(x)) and torch.equal(model.body(x), out.features)
    assert names or out.features is out.logits
    FlatModel(model).mask(model.default_trunk_end)


def test_a_layer_that_is_never_called_is_no_head() -> None:
    class Spare(Quickstart):
        def __init__(self) -> None:
            super().__init__()
            self.spare = nn.Linear(2, 2)

    x, _ = samples(2).batch(slice(0, 2))
    assert wrap(Spare(), x).head_names() == ["fc3.weight", "fc3.bias"]


def test_a_headless_module_is_wrapped_without_an_example_too() -> None:
    model = wrap(Convolutional())
    assert not model.has_head and model.head_names() == [] and model.default_trunk_end == ("last",)
    twin = copy.deepcopy(model)
    assert not twin.has_head and twin.channels_last is False


def test_the_trial_pass_leaves_modes_and_statistics_alone() -> None:
    module = Convolutional()
    module.norm.eval()
    before = buffers(module)
    x, _ = samples(2).batch(slice(0, 2))
    model = wrap(module, x)
    assert module.training and not module.norm.training and model.training
    assert all(np.array_equal(value, before[name]) for name, value in buffers(model).items())


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
    assert {*flat.names, *buffers(model)} == set(model.state_dict())
    x, y = torch.randn(6, 4), torch.arange(6) % 3
    step(plain, x, y, 0.1)
    flat.zero_grad()
    F.cross_entropy(model(x), y).backward()
    flat.theta.add_(flat.grad, alpha=-0.1)
    torch.testing.assert_close(theirs.state_dict(), plain.state_dict())
    other = FlatModel(wrap(Tied()))
    other.load(flat.vector())
    load_buffers(other.model, buffers(model))
    torch.testing.assert_close(dict(other.model.state_dict()), dict(model.state_dict()), rtol=0, atol=0)
    assert other.model.get_submodule("second").weight is other.model.get_submodule("first").weight
    fresh = wrap(Tied())
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(dict(fresh.state_dict()), dict(model.state_dict()), rtol=0, atol=0)


def test_a_torchvision_model_goes_over_the_wire_and_back() -> None:
    model, other = wrap(resnet18()), FlatModel(wrap(resnet18()))
    flat = FlatModel(model)
    model(samples(4).batch(slice(0, 4))[0])
    arrays = {**vector_to_state(flat.vector(), shapes(model)), **buffers(model)}
    assert arrays.keys() == model.state_dict().keys() and len(buffers(model)) == 60
    other.load(state_to_vector(arrays, other.names))
    load_buffers(other.model, {name: value for name, value in arrays.items() if name not in other.names})
    x = samples(3).batch(slice(0, 3))[0]
    assert torch.equal(model.eval()(x), other.model.eval()(x))


class Complex(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 2)
        self.register_buffer("phase", torch.zeros(2, dtype=torch.complex64))


class WithExtra(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Remembering(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


class Remembering(nn.Linear):
    def get_extra_state(self) -> dict[str, int]:
        return {"calls": 1}


def half() -> nn.Module:
    return nn.Linear(3, 2).half()


def held_still() -> nn.Module:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    module[0].bias.requires_grad_(False)
    return module


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (half, r"'weight' of Linear is torch\.float16, but models are float32"),
        (held_still, r"'0\.bias' of Sequential has requires_grad=False"),
        (Complex, r"Buffer 'phase' of Complex is torch\.complex64"),
        (WithExtra, r"'inner\._extra_state' in the state dict of WithExtra is dict"),
        (nn.ReLU, "ReLU has no parameters"),
        (lambda: torch.jit.script(nn.Linear(3, 2)), "TorchScript"),
        (lambda: nn.Sequential(nn.LazyLinear(2)), "lazy layers"),
        (lambda: nn.Linear(3, 2, device="meta"), "plain dense tensor"),
    ],
)
def test_what_cannot_be_one_vector_is_a_sentence(make: Callable[[], nn.Module], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        wrap(make())


@pytest.mark.parametrize(
    ("module", "outputs", "sentence"),
    [
        (nn.Linear(4, 2), 2, r"Linear fails on examples of the shape \(3,\): RuntimeError"),
        (nn.Linear(3, 5), 2, "gives 5 outputs per example, but 2 are needed: take num_classes"),
        (nn.Sequential(nn.Linear(3, 2), nn.Flatten(0)), 2, r"gave the shape \(4,\) for 2 examples"),
        (nn.LSTM(3, 2), 2, "LSTM.forward returned tuple"),
    ],
)
def test_what_does_not_fit_the_data_is_a_sentence(module: nn.Module, outputs: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        wrap(module, torch.zeros(2, 3), outputs)


def test_one_output_may_be_a_vector() -> None:
    model = wrap(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), torch.zeros(2, 3), 1)
    assert model.has_head and model(torch.zeros(5, 3)).shape == (5,)


def test_lazy_layers_get_their_weights_from_the_example() -> None:
    module = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(10))
    model = wrap(module, torch.zeros(2, 3, 8, 8), 10)
    assert FlatModel(model).theta.shape == (4 * 27 + 4 + 8 + 144 * 10 + 10,)
