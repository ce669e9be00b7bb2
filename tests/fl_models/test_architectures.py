"""Models by name: counts as the papers have them, seeds, and names and shapes that are refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fl_config.errors import ConfigError
from fl_models import Model, auto, build, check_model_spec
from tests.fl_models.architectures.every_model import conv, count, fc

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
