"""The initial weights of every model for two seeds, as they have been since the first release: runs of old stay repeatable."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from fl_models import MODELS, build
from fl_models.building import auto
from fl_models.declaration import ARCHITECTURES

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
