"""Which modules can be trained as one vector, what the trial pass finds in them, and a sentence for every other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from fl_models import wrap
from fl_models.flat import FlatModel
from tests.fl_models.architectures.foreign_modules import Convolutional, Quickstart, Recurrent, resnet18, samples


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


def test_the_trial_pass_leaves_modes_and_statistics_alone() -> None:
    module = Convolutional()
    module.norm.eval()
    before = {name: value.clone() for name, value in module.named_buffers()}
    x, _ = samples(2).batch(slice(0, 2))
    model = wrap(module, x)
    assert module.training and not module.norm.training and model.training
    assert all(torch.equal(value, before[name]) for name, value in module.named_buffers()) and before


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
