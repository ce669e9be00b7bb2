"""Models of the user's: what they are called with, their weights, a sentence for every mistake; the page on them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fl_config.errors import ConfigError
from fl_config.seeds import seeded
from fl_models import build, check_model_spec
from fl_models.flat import FlatModel
from fl_models.own import Offered


class Asking(nn.Linear):
    def __init__(self, num_outputs: int, vocabulary: int = 7, shape: tuple[int, ...] = (), **rest: Any) -> None:
        super().__init__(shape[0], num_outputs)
        self.asked = {"num_outputs": num_outputs, "vocabulary": vocabulary, "shape": shape, **rest}


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


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "own_model.md").read_text(encoding="utf-8")


def test_the_template_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (template,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    Path("my_net.py").write_text(template)
    check_model_spec("my_net.py:Net")
    flat = FlatModel(build("my_net.py:Net", (3, 32, 32), 10, seed=1))
    losses = []
    with seeded(1, "template"):
        x, y = torch.randn(8, 3, 32, 32).to(memory_format=torch.channels_last), torch.arange(8)
        for _ in range(20):
            flat.zero_grad()
            loss = torch.nn.functional.cross_entropy(flat.model(x), y)
            loss.backward()
            flat.theta.add_(flat.grad, alpha=-0.1)
            losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_the_page_names_every_keyword() -> None:
    assert all(f"`{keyword}`" in PAGE for keyword in Offered._fields)
