"""Models by name: counts as the papers have them, weights by the seed as they always were, and names and shapes that are refused with a sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch

from fl_config.errors import ConfigError
from fl_models import MODELS, Model, auto, build, check_model_spec
from fl_models.declaration import ARCHITECTURES
from fl_models.loading import source_of
from tests.fl_models.architectures.every_model import conv, count, fc


def test_initial_weights_are_a_function_of_the_seed(net: str) -> None:
    check_model_spec(net)
    before = torch.get_rng_state()
    states = [build(net, (3, 8, 8), 5, seed=seed).state_dict() for seed in (1, 1, 2)]
    assert torch.equal(torch.get_rng_state(), before)
    assert list(states[0]) == ["conv.weight", "conv.bias", "fc.weight", "fc.bias"]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not any(torch.equal(states[0][name], states[2][name]) for name in states[0])
    assert states[0]["fc.weight"].shape == (5, 4 * 36)


def test_a_model_from_its_text_where_there_is_no_file(net: str) -> None:
    here = build(net, (3, 8, 8), 5, seed=1).state_dict()
    source = source_of(net)
    Path("my_net.py").unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        build(net, (3, 8, 8), 5, seed=1)
    there = build(net, (3, 8, 8), 5, seed=1, source=source).state_dict()
    assert all(torch.equal(here[name], there[name]) for name in here)


def test_an_unknown_name_still_gets_the_nearest_one(net: str) -> None:
    with pytest.raises(ConfigError, match=r"'lenet5:bn'; did you mean 'lenet'\?.*A model of your own is FILE\.py:NAME"):
        check_model_spec("lenet5:bn")
    with pytest.raises(ConfigError, match=r"There is no model 'xyzzy'\. The models are"):
        check_model_spec("xyzzy")


# (name, shape, more, the first 16 digits of the SHA-256 with seed 0, with seed 7), three classes each.
KNOWN: list[tuple[str, tuple[int, ...], dict[str, Any], str, str]] = [
    ("linear", (1, 8, 8), {}, "d0160f337b4e5c80", "a552f0b167624a26"),
    ("mlp:16,12", (20,), {"kind": "features"}, "b69a939e111d9e86", "e64e705a2767da0f"),
    ("mlp:200,200", (1, 28, 28), {}, "41fc68931f426ad3", "a29933789eb1720e"),
    ("lenet", (3, 32, 32), {}, "7334964b3add52f1", "4ed66cc4785c95e3"),
    ("lenet", (1, 8, 8), {}, "f7ec9ab754cb9f31", "046087b8c0af226d"),
    ("cnn64", (3, 16, 16), {}, "781ab281e499103c", "4432b3cb23d28665"),
    ("tiny-cnn", (3, 8, 8), {}, "15954cbb552dc972", "1a50b27f42449abd"),
    ("resnet18", (3, 8, 8), {}, "1edf3edaac399d6a", "d9b2394a6391cea0"),
    ("resnet18:bn", (3, 8, 8), {}, "d5bebafe10f0c9f5", "bd2ae31a18af4362"),
    ("resnet20", (1, 9, 9), {}, "dd550769650aa233", "38a904ae3ddd4c02"),
    ("resnet20:bn", (3, 8, 8), {}, "2c6da3662f7ac2bf", "d4330e6ac6e2cb97"),
    ("femnist-cnn", (1, 8, 8), {}, "fcbe6faf3a86a3d4", "f573e7e14e318899"),
    ("textcnn", (12,), {"kind": "tokens", "vocabulary": 30}, "863103e497218de5", "a005e1ded8ad6147"),
    ("vit", (1, 28, 28), {}, "77f307da2b3b538b", "a1490b7101773369"),
    ("lenet", (1, 28, 28), {"projection": 32}, "f39efed4377e7b9f", "488784dfcfdd6f0d"),
    ("mlp:10", (5,), {"kind": "features", "projection": 4}, "09585b8a1122e703", "c7fe8b8199a12680"),
]


def digest(model: Any) -> str:
    total = hashlib.sha256()
    for name, value in model.state_dict().items():
        total.update(name.encode())
        total.update(value.numpy().tobytes())
    return total.hexdigest()[:16]


@pytest.mark.parametrize(("name", "shape", "more", "zero", "seven"), KNOWN)
def test_initial_weights_have_not_changed(
    name: str, shape: tuple[int, ...], more: dict[str, Any], zero: str, seven: str
) -> None:
    assert digest(build(name, shape, 3, seed=0, **more)) == zero
    assert digest(build(name, shape, 3, seed=7, **more)) == seven


def test_every_declared_model_is_above() -> None:
    assert {name.partition(":")[0] for name, *_ in KNOWN} == set(ARCHITECTURES)
    assert list(MODELS.values()) == [each.what for each in ARCHITECTURES.values()]


def test_declared_choices_are_models() -> None:
    chosen = {dataset: name for each in ARCHITECTURES.values() for dataset, name in each.chosen_for.items()}
    assert len(chosen) == 10
    for dataset, name in chosen.items():
        assert auto(dataset, "image", (3, 32, 32)) == name
        build(name, (3, 32, 32), 4)


def test_outputs_may_be_other_than_the_classes() -> None:
    one = build("mlp:5", (4,), 0, kind="features", num_outputs=1)
    assert one.head.weight.shape == (1, 5)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="1 output or more"):
        build("mlp:5", (4,), 0, kind="features", num_outputs=-1)


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
