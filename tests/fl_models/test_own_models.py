"""Models of one's own by name, class, function or module: what they are called with, their seeds, their description."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_config.options import options
from fl_config.seeds import seeded
from fl_models import build, check_model_spec, describe, draws_random_numbers, wrap
from fl_models.flat import FlatModel
from fl_models.loading import Source, source_of
from fl_models.spec import build_model, flat_model, initial_state, model_spec

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes, shape):
        super().__init__()
        self.conv = nn.Conv2d(shape[0], 4, 3)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.LazyLinear(num_classes)

    def forward(self, x):
        x = self.conv(x).relu()
        return self.fc(self.drop(x.view(len(x), -1)))
"""


class Asking(nn.Linear):
    def __init__(self, num_outputs: int, vocabulary: int = 7, shape: tuple[int, ...] = (), **rest: Any) -> None:
        super().__init__(shape[0], num_outputs)
        self.asked = {"num_outputs": num_outputs, "vocabulary": vocabulary, "shape": shape, **rest}


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_net.py").write_text(NET)
    return "my_net.py:Net"


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


def test_what_a_model_asks_for_it_gets() -> None:
    model = build("Asking", (4,), 3, kind="features", vocabulary=9, num_outputs=2, given=Asking)
    assert model.original.asked == {"num_outputs": 2, "vocabulary": 9, "shape": (4,)}  # type: ignore[attr-defined]
    assert model.name == "Asking"


def test_keywords_that_a_model_passes_on_are_the_number_of_classes() -> None:
    def made(**rest: Any) -> nn.Module:
        assert rest == {"num_classes": 3}
        return nn.Linear(4, 3)

    assert build("made", (4,), 3, kind="features", given=made).head_names() == ["weight", "bias"]


def test_a_module_is_taken_with_its_weights_and_copied() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    one, other = (build("mine", (4,), 3, kind="features", seed=seed, given=module) for seed in (1, 2))
    assert torch.equal(one.head.weight, module[1].weight) and torch.equal(other.head.weight, module[1].weight)  # type: ignore[arg-type]
    assert one.head is not module[1]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (3, "Model mine is 3, but a model is a class, a function or an nn.Module"),
        (lambda: 3, "Model mine gave int"),
        (lambda hidden: None, "needs 'hidden', but a model is called by the keywords num_classes, shape"),
        (lambda num_classes, /: None, "needs 'num_classes', but"),
        (lambda: 1 / 0, "mine fails.*ZeroDivisionError"),
        (lambda: nn.Linear(4, 5), "gives 5 outputs per example, but 3 are needed"),
        (lambda: nn.Linear(5, 3), r"fails on examples of the shape \(4,\)"),
    ],
)
def test_wrong_models_are_sentences(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        build("mine", (4,), 3, kind="features", given=given)


def test_an_unknown_name_still_gets_the_nearest_one(net: str) -> None:
    with pytest.raises(ConfigError, match=r"'lenet5:bn'; did you mean 'lenet'\?.*A model of your own is FILE\.py:NAME"):
        check_model_spec("lenet5:bn")
    with pytest.raises(ConfigError, match=r"There is no model 'xyzzy'\. The models are"):
        check_model_spec("xyzzy")


def test_a_specification_holds_the_text(net: str) -> None:
    data = SimpleNamespace(shape=(3, 8, 8), num_classes=5, kind="image", vocabulary=0)
    spec = model_spec(options({"model": net, "seed": 4}), data, 0)
    assert spec.source == Source.of("my_net.py", NET)
    Path("my_net.py").write_text("raise ValueError")
    assert build_model(spec).has_head
    assert flat_model(spec, "cpu") is flat_model(spec, "cpu")
    assert initial_state(spec).keys() == build_model(spec).state_dict().keys()
    told = model_spec(options({"model": net}), data, 0, source=Source.of("my_net.py", NET), num_outputs=2)
    assert build_model(told).head.weight.shape[0] == 2  # type: ignore[index, union-attr]


def test_the_model_in_words(net: str) -> None:
    source = source_of(net)
    words = describe(build(net, (3, 8, 8), 5), source)
    assert words == {
        "name": net,
        "parameters": 3 * 4 * 9 + 4 + 144 * 5 + 5,
        "buffers": 0,
        "head": ["fc.weight", "fc.bias"],
        "layers": [
            "conv: Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1)), 112 parameters",
            "fc: Linear(in_features=144, out_features=5, bias=True), 725 parameters",
        ],
        "source": "my_net.py",
        "sha256": source.sha256,
    }
    assert describe(wrap(nn.Linear(2, 3)))["layers"] == [
        "model: Linear(in_features=2, out_features=3, bias=True), 9 parameters"
    ]
    long = describe(build("resnet18:bn", (3, 8, 8), 3))
    assert long["name"] == "resnet18:bn" and len(long["layers"]) == 13 and long["layers"][6] == "... 29 more layers ..."
    assert long["buffers"] == 9_620


class Hidden(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc(F.dropout(x, 0.5, self.training))
        return out


def test_who_draws_random_numbers() -> None:
    assert draws_random_numbers(wrap(Hidden())) and draws_random_numbers(Hidden())
    assert not any(draws_random_numbers(build(name, (1, 28, 28), 3)) for name in ("lenet", "vit", "mlp:5", "resnet20"))
    model = build("mlp:5", (4,), 3, kind="features")
    model.body.add_module("drop", nn.Dropout(0.1))
    assert draws_random_numbers(model)


def test_draws_inside_are_seeded_and_the_generator_outside_is_untouched() -> None:
    model = FlatModel(wrap(Hidden())).model.train()
    x = torch.ones(5, 4)
    before = torch.get_rng_state()
    outs = []
    for client in ("a", "a", "b"):
        with seeded(3, "draws of the model", 7, client):
            outs.append(model(x))
    with pytest.raises(RuntimeError), seeded(3, "draws of the model", 7, "a"):
        model(x[:, :2])
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(outs[0], outs[1]) and not torch.equal(outs[0], outs[2])
