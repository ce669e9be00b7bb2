"""The models against the papers' descriptions: counts by hand, body and head, seeds, shapes, one batch learnt."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fl_config.errors import ConfigError
from fl_models import MODELS, Model, auto, build, check_model_spec
from fl_models.flat import FlatModel

torch.set_num_threads(1)


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def conv(inputs: int, outputs: int, kernel: int) -> int:
    return inputs * outputs * kernel * kernel + outputs


def fc(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


COUNTS = [
    ("linear", (1, 28, 28), 10, 7_850),
    ("mlp:200,200", (1, 28, 28), 10, fc(784, 200) + fc(200, 200) + fc(200, 10)),
    ("mlp:100", (1, 28, 28), 26, fc(784, 100) + fc(100, 26)),
    ("lenet", (3, 32, 32), 10, 62_006),
    ("lenet", (1, 28, 28), 10, conv(1, 6, 5) + conv(6, 16, 5) + fc(16 * 4 * 4, 120) + fc(120, 84) + fc(84, 10)),
    ("cnn64", (3, 32, 32), 100, conv(3, 64, 5) + conv(64, 64, 5) + fc(1600, 384) + fc(384, 192) + fc(192, 100)),
    (
        "tiny-cnn",
        (3, 64, 64),
        200,
        conv(3, 64, 3) + 2 * conv(64, 64, 3) + 3 * 128 + fc(4096, 512) + fc(512, 384) + fc(384, 200),
    ),
    ("resnet18", (3, 32, 32), 10, 11_173_962),
    ("resnet18:bn", (3, 32, 32), 10, 11_173_962),
    ("resnet20", (3, 32, 32), 10, 269_722),
    ("femnist-cnn", (1, 28, 28), 62, 6_603_710),
    (
        "vit",
        (3, 32, 32),
        10,
        fc(48, 128) + 64 * 128 + 4 * (4 * 128 + fc(128, 384) + fc(128, 128) + fc(128, 512) + fc(512, 128)) + 256 + 1290,
    ),
]


@pytest.mark.parametrize(("name", "shape", "classes", "expected"), COUNTS)
def test_parameter_count_is_that_of_the_paper(name: str, shape: tuple[int, ...], classes: int, expected: int) -> None:
    assert count(build(name, shape, classes)) == expected


def test_textcnn_parameter_count() -> None:
    model = build("textcnn", (40,), 4, kind="tokens", vocabulary=1000)
    assert count(model) == 1000 * 32 + sum(32 * 32 * width + 32 for width in (3, 4, 5)) + fc(96, 4)


def test_projection_is_two_layers_before_the_head() -> None:
    model = build("lenet", (1, 28, 28), 10, projection=256)
    assert model.projection is not None
    assert count(model.projection) == fc(84, 84) + fc(84, 256)
    assert count(model.head) == fc(256, 10)


SMALL: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("linear", (1, 8, 8), {}),
    ("mlp:16,12", (20,), {"kind": "features"}),
    ("lenet", (1, 8, 8), {}),
    ("lenet", (3, 17, 20), {}),
    ("cnn64", (1, 12, 12), {}),
    ("tiny-cnn", (3, 8, 8), {}),
    ("resnet18", (3, 8, 8), {}),
    ("resnet18:bn", (3, 8, 8), {}),
    ("resnet20", (1, 9, 9), {}),
    ("resnet20:bn", (3, 8, 8), {}),
    ("femnist-cnn", (1, 8, 8), {}),
    ("textcnn", (12,), {"kind": "tokens", "vocabulary": 30}),
    ("vit", (1, 28, 28), {}),
    ("lenet", (1, 28, 28), {"projection": 32}),
    ("mlp:10", (5,), {"kind": "features", "projection": 4}),
]
IDS = [
    f"{name}-{'x'.join(map(str, shape))}{'-projection' if 'projection' in more else ''}" for name, shape, more in SMALL
]


def batch(name: str, shape: tuple[int, ...], examples: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(examples) % 3
    if name == "textcnn":
        return torch.randint(0, 30, (examples, *shape), generator=generator), labels
    return torch.randn((examples, *shape), generator=generator), labels


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


def same(a: Model, b: Model) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("name", ["linear", "mlp:8", "lenet", "resnet20", "vit"])
def test_weights_are_a_function_of_the_seed(name: str) -> None:
    first = build(name, (1, 28, 28), 10, seed=3)
    torch.manual_seed(12345)
    before = torch.get_rng_state()
    again = build(name, (1, 28, 28), 10, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    other = build(name, (1, 28, 28), 10, seed=4)
    assert same(first, again)
    assert not torch.equal(first.head.weight, other.head.weight)  # type: ignore[arg-type]


def test_pooling_before_relu_changes_neither_outputs_nor_gradients() -> None:
    model = build("lenet", (1, 28, 28), 10)
    x, y = batch("lenet", (1, 28, 28))
    logits = model(x)
    F.cross_entropy(logits, y).backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    body = model.body
    h = F.max_pool2d(F.relu(body.get_submodule("conv1")(x)), 2)
    h = F.max_pool2d(F.relu(body.get_submodule("conv2")(h)), 2).flatten(1)
    h = F.relu(body.get_submodule("fc2")(F.relu(body.get_submodule("fc1")(h))))
    as_printed = model.head(h)
    F.cross_entropy(as_printed, y).backward()
    assert torch.equal(logits, as_printed)
    assert len(gradients) == 10
    assert all(torch.equal(g, p.grad) for g, p in zip(gradients, model.parameters(), strict=True) if p.grad is not None)


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


def test_padding_tokens_carry_no_gradient() -> None:
    model = build("textcnn", (12,), 3, kind="tokens", vocabulary=30)
    x, y = batch("textcnn", (12,))
    x[:, 6:] = 0
    F.cross_entropy(model(x), y).backward()
    embedding = model.body.get_submodule("embedding").weight
    assert isinstance(embedding, nn.Parameter) and embedding.grad is not None
    assert not embedding[0].any() and not embedding.grad[0].any() and embedding.grad.any()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("LeNet5", "did you mean 'lenet'"),
        ("resnet", "did you mean 'resnet"),
        ("mlp", "such as mlp:200,200"),
        ("mlp:", "such as mlp:200,200"),
        ("mlp:200,-3", "such as mlp:200,200"),
        ("mlp:0", "such as mlp:200,200"),
        ("lenet:bn", "'lenet' takes none"),
        ("resnet18:gn", "resnet18:bn"),
        ("resnet18:", "resnet18:bn"),
        ("", "There is no model ''"),
    ],
)
def test_wrong_names_are_sentences(name: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check_model_spec(name)
    with pytest.raises(ConfigError, match=sentence):
        build(name, (1, 28, 28), 10)


def test_right_names_pass() -> None:
    for name in ("auto", "linear", "mlp:5", "mlp:5,6,7", "resnet18:bn", "vit"):
        check_model_spec(name)
    with pytest.raises(ConfigError, match="depends on the dataset"):
        build("auto", (1, 28, 28), 10)


@pytest.mark.parametrize(
    ("name", "shape", "more", "sentence"),
    [
        ("lenet", (20,), {"kind": "features"}, "needs images"),
        ("lenet", (1, 3, 28), {}, "at least 4x4 pixels, but they are 3x28"),
        ("tiny-cnn", (1, 7, 7), {}, "at least 8x8"),
        ("vit", (1, 30, 28), {}, "multiples of 4, but the images are 30x28"),
        ("textcnn", (1, 28, 28), {}, "reads texts"),
        ("textcnn", (4,), {"kind": "tokens", "vocabulary": 9}, "at least 5 tokens"),
        ("textcnn", (40,), {"kind": "tokens"}, "vocabulary"),
        ("mlp:5", (40,), {"kind": "tokens", "vocabulary": 9}, "use --model textcnn"),
        ("linear", (), {"kind": "features"}, "positive sizes"),
        ("linear", (4,), {"kind": "text"}, "image, features, tokens, but 'text' was given"),
        ("linear", (4,), {"projection": -1}, "0 \\(none\\) or positive"),
    ],
)
def test_shapes_that_do_not_fit_are_sentences(
    name: str, shape: tuple[int, ...], more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        build(name, shape, 10, **more)


def test_one_class_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 2 classes"):
        build("linear", (4,), 1)


@pytest.mark.parametrize(
    ("dataset", "kind", "shape", "expected"),
    [
        ("mnist", "image", (1, 28, 28), "mlp:200,200"),
        ("fashion-mnist", "image", (1, 28, 28), "lenet"),
        ("cifar100", "image", (3, 32, 32), "cnn64"),
        ("tiny-imagenet", "image", (3, 64, 64), "tiny-cnn"),
        ("femnist", "image", (1, 28, 28), "femnist-cnn"),
        ("agnews", "tokens", (64,), "textcnn"),
        ("digits", "image", (1, 8, 8), "mlp:200,200"),
        ("npz:mine.npz", "features", (30,), "mlp:200,200"),
        ("npz:mine.npz", "image", (3, 32, 32), "lenet"),
        ("folder:photos", "image", (3, 64, 64), "tiny-cnn"),
        ("folder:photos", "image", (3, 128, 128), "resnet18"),
    ],
)
def test_auto_chooses_a_model_that_can_be_built(dataset: str, kind: str, shape: tuple[int, ...], expected: str) -> None:
    name = auto(dataset, kind, shape)
    assert name == expected
    build(name, shape, 4, kind=kind, vocabulary=50)
