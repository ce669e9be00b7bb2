"""The flat vector: views stay views, both orders are exact inverses, and a step on it is SGD's step."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_models import Model, build, wrap
from fl_models.flat import (
    FlatModel,
    load_buffers,
    parameter_names,
    state_to_vector,
    vector_to_state,
)

torch.set_num_threads(1)
MODELS = [
    ("lenet", (1, 28, 28)),
    ("cnn64", (3, 16, 16)),
    ("resnet20", (3, 8, 8)),
    ("vit", (3, 8, 8)),
    ("mlp:6", (1, 4, 4)),
]


def numbers(flat: FlatModel) -> dict[str, np.ndarray]:
    """Copies of the buffers."""
    return {name: value.numpy().copy() for name, value in flat.buffers().items()}


def batches(shape: tuple[int, ...], steps: int) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn((4, *shape), generator=generator), torch.arange(4) % 3) for _ in range(steps)]


def canonical(model: Model) -> np.ndarray:
    return np.concatenate([p.detach().contiguous().numpy().reshape(-1) for p in model.parameters()])


def train_flat(model: Model, channels_last: bool, shape: tuple[int, ...]) -> np.ndarray:
    flat = FlatModel(model, channels_last=channels_last)
    for x, y in batches(shape, 4):
        flat.zero_grad()
        F.cross_entropy(flat.model(x), y).backward()
        flat.theta.add_(flat.grad, alpha=-0.02)
    return flat.vector()


@pytest.mark.parametrize(("name", "shape"), MODELS)
def test_steps_on_the_vector_are_those_of_sgd(name: str, shape: tuple[int, ...]) -> None:
    model = build(name, shape, 3)
    start = canonical(model)
    by_torch = copy.deepcopy(model)
    optimizer = torch.optim.SGD(by_torch.parameters(), lr=0.02)
    for x, y in batches(shape, 4):
        optimizer.zero_grad()
        F.cross_entropy(by_torch(x), y).backward()
        optimizer.step()
    expected = canonical(by_torch)
    assert np.abs(expected - start).max() > 1e-3
    np.testing.assert_allclose(train_flat(copy.deepcopy(model), False, shape), expected, atol=1e-6)
    np.testing.assert_allclose(train_flat(copy.deepcopy(model), True, shape), expected, atol=2e-6)


def inside(view: Tensor, flat: Tensor) -> bool:
    return view.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr()


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize(("name", "shape"), MODELS)
def test_parameters_and_gradients_stay_views(name: str, shape: tuple[int, ...], channels_last: bool) -> None:
    flat = FlatModel(build(name, shape, 3), channels_last=channels_last)
    (x, y) = batches(shape, 1)[0]
    pointers = [(p.data_ptr(), p.grad.data_ptr()) for p in flat.model.parameters() if p.grad is not None]
    once = torch.empty(0)
    for rounds in (1, 2, 3):
        if rounds == 3:
            flat.zero_grad()
        F.cross_entropy(flat.model(x), y).backward()
        for p, (value, gradient) in zip(flat.model.parameters(), pointers, strict=True):
            assert p.grad is not None and p.data_ptr() == value and p.grad.data_ptr() == gradient
            assert inside(p, flat.theta) and inside(p.grad, flat.grad) and p.stride() == p.grad.stride()
        if rounds == 1:
            once = flat.grad.clone()
            assert once.abs().sum() > 0
        else:
            torch.testing.assert_close(flat.grad, once * {2: 2, 3: 1}[rounds])


def test_gradients_removed_by_others_come_back() -> None:
    flat = FlatModel(build("lenet", (1, 28, 28), 3))
    flat.model.zero_grad(set_to_none=True)
    flat.zero_grad()
    x, y = batches((1, 28, 28), 1)[0]
    F.cross_entropy(flat.model(x), y).backward()
    assert flat.grad.abs().sum() > 0


def test_convolutions_are_channels_last_inside() -> None:
    weight = FlatModel(build("cnn64", (3, 32, 32), 3)).model.get_parameter("body.conv2.weight")
    assert weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize(("name", "shape"), MODELS)
def test_orders_are_exact_inverses(name: str, shape: tuple[int, ...], channels_last: bool) -> None:
    model = build(name, shape, 3)
    expected = canonical(model)
    flat = FlatModel(model, channels_last=channels_last)
    np.testing.assert_array_equal(flat.vector(), expected)
    new = np.random.default_rng(0).normal(size=len(expected)).astype(np.float32)
    new.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flat.load(new)
    np.testing.assert_array_equal(flat.vector(), new)
    np.testing.assert_array_equal(canonical(model), new)
    np.testing.assert_array_equal(flat.to_canonical(flat.to_internal(torch.tensor(new))), new)
    torch.testing.assert_close(flat.to_internal(flat.to_canonical(flat.theta)), flat.theta, rtol=0, atol=0)
    state = {name: p.detach().numpy() for name, p in model.named_parameters()}
    np.testing.assert_array_equal(state_to_vector(state, flat.names), new)


def test_vector_is_a_copy() -> None:
    flat = FlatModel(build("linear", (4,), 3))
    before = flat.vector()
    kept = before.copy()
    flat.theta.add_(1.0)
    np.testing.assert_array_equal(before, kept)
    internal = flat.to_internal(before)
    internal.zero_()
    np.testing.assert_array_equal(before, kept)


def test_wrong_sizes_are_sentences() -> None:
    flat = FlatModel(build("linear", (4,), 3))
    with pytest.raises(ValueError, match="has 15 parameters, but the vector's shape is \\(14,\\)"):
        flat.load(np.zeros(14, dtype=np.float32))
    with pytest.raises(ValueError, match="15 numbers together"):
        vector_to_state(np.zeros(16, dtype=np.float32), flat.shapes)


def test_mask_goes_by_whole_components() -> None:
    model = wrap(nn.Sequential(*(nn.Linear(2, 2) for _ in range(11))))
    flat = FlatModel(model)
    assert flat.mask(["1"]).nonzero().flatten().tolist() == list(range(6, 12))
    assert flat.mask(["10.bias", "0"]).nonzero().flatten().tolist() == [*range(6), 64, 65]
    assert not flat.mask([]).any()
    with pytest.raises(ValueError, match="no part 'fc'"):
        flat.mask(["fc"])


def test_mask_of_trunk_end_and_head() -> None:
    flat = FlatModel(build("lenet", (1, 28, 28), 10))
    assert int(flat.mask(flat.model.head_names()).sum()) == 850
    assert int(flat.mask(flat.model.default_trunk_end).sum()) == 44_426 - 156
    assert not FlatModel(build("linear", (4,), 3)).mask(["body"]).any()


def test_state_and_vector_round_trip_with_views() -> None:
    model = build("lenet", (1, 28, 28), 10)
    vector = np.arange(44_426, dtype=np.float32)
    state = vector_to_state(vector, FlatModel(model).shapes)
    assert list(state) == parameter_names(model)
    assert all(np.shares_memory(array, vector) for array in state.values())
    np.testing.assert_array_equal(state_to_vector(state, parameter_names(model)), vector)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    np.testing.assert_array_equal(canonical(model), vector)
    with pytest.raises(ValueError, match=r"lacks the parameter 'head.bias' \(1 of 10"):
        state_to_vector({k: v for k, v in state.items() if k != "head.bias"}, parameter_names(model))


def test_a_part_without_parameters_is_an_empty_vector() -> None:
    assert state_to_vector({}, []).shape == (0,)
    assert vector_to_state(np.zeros(0, dtype=np.float32), {}) == {}


def test_buffers_travel_apart_from_the_vector() -> None:
    flat, other = FlatModel(build("resnet20:bn", (3, 8, 8), 3)), FlatModel(build("resnet20:bn", (3, 8, 8), 3))
    before = numbers(flat)
    flat.model(torch.randn(4, 3, 8, 8))
    after = numbers(flat)
    assert len(after) == 3 * 19 and not any("weight" in name for name in after)
    assert after["body.norm1.num_batches_tracked"] == 1 and before["body.norm1.num_batches_tracked"] == 0
    assert not np.array_equal(after["body.norm1.running_mean"], before["body.norm1.running_mean"])
    load_buffers(other, after)
    for name, value in numbers(other).items():
        np.testing.assert_array_equal(value, after[name])
        assert value.dtype == after[name].dtype
    assert FlatModel(build("resnet20", (3, 8, 8), 3)).buffers() == {}


class Counter(nn.Module):
    """Replaces its buffer instead of writing into it, and has one that is not saved."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.seen: Tensor
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.seen = self.seen + len(x)
        return self.layer(x)  # type: ignore[no-any-return]


def test_a_buffer_that_the_module_replaced_is_the_one_that_counts() -> None:
    flat = FlatModel(wrap(Counter()))
    flat.model(torch.zeros(5, 4))
    (name,) = flat.buffers()
    assert name.endswith("seen") and flat.buffers()[name] == 5
    load_buffers(flat, {name: np.array(2.0, dtype=np.float32)})
    flat.model(torch.zeros(1, 4))
    assert flat.buffers()[name] == 3


def test_buffers_that_do_not_fit_are_refused() -> None:
    flat = FlatModel(build("resnet20:bn", (3, 8, 8), 3))
    values = numbers(flat)
    with pytest.raises(ValueError, match="on one side only"):
        load_buffers(flat, {k: v for k, v in values.items() if k != "body.norm1.running_mean"})
    with pytest.raises(ValueError, match="has the shape"):
        load_buffers(flat, values | {"body.norm1.running_mean": np.zeros(3, dtype=np.float32)})


def test_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match="float32 throughout"):
        FlatModel(build("linear", (4,), 3).double())
