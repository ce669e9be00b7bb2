"""Tasks by name, file, class and object; a sentence for every mistake; the page on them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fl_config.errors import ConfigError
from fl_models.loading import Source
from fl_tasks import METRICS, Classification, Multilabel, Regression, Task, chosen_metrics, load_task
from fl_tasks.metrics import registry


class Huber(Regression):
    name = "huber"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        return F.huber_loss(outputs.reshape(y.shape), y, reduction=reduction)


OWN = """
import torch.nn.functional as F
from fl_tasks import Regression

class Absolute(Regression):
    name = "absolute"
    headline = "mae"

    def loss(self, outputs, y, reduction="mean"):
        return F.l1_loss(outputs.reshape(y.shape), y, reduction=reduction)
"""


def test_tasks_by_name_file_class_and_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert type(load_task()) is Classification and type(load_task("multilabel")) is Multilabel
    huber = Huber()
    assert load_task(huber) is huber and type(load_task(Huber)) is Huber
    Path("my_task.py").write_text(OWN)
    task = load_task("my_task.py:Absolute")
    assert task.headline == "mae" and task.loss(torch.ones(2, 1), torch.zeros(2)).item() == 1.0
    Path("my_task.py").unlink()
    assert type(load_task("my_task.py:Absolute", Source.of("my_task.py", OWN))) is type(task)


class Lossless(Task):
    name = "lossless"


class Nameless(Regression):
    name = ""


class Confused(Regression):
    name = "confused"
    metrics = ("rsme",)


class Failing(Regression):
    def __init__(self) -> None:
        raise OSError("no disk")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("regresion", "no task 'regresion'; did you mean 'regression'"),
        ("ranking", "The tasks are: classification, regression, multilabel; one of your own is FILE.py:NAME"),
        ("missing.py:Mine", "cannot be read"),
        (int, "but a task is a subclass"),
        (3, "The task 3 is 3, but"),
        (Lossless, "has no loss: define loss"),
        (Nameless, "has no name"),
        (Confused, "records 'rsme', which is no metric of its family 'regression'; did you mean 'rmse'"),
        (Failing, "OSError: no disk"),
    ],
)
def test_wrong_tasks_are_sentences(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load_task(given)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")


def test_the_template_is_a_task_and_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(registry, "METRICS", dict(METRICS))
    (template,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    Path("my_task.py").write_text(template)
    task = load_task("my_task.py:Huber")
    assert chosen_metrics(task).headline == "mae"
    chosen = chosen_metrics(task, headline="within-ten")
    assert chosen.names == ("mae", "rmse", "within-ten") and chosen.better == "more"
    outputs, y = torch.tensor([[0.0], [30.0]]), torch.tensor([4.0, 0.0])
    assert task.loss(outputs, y, reduction="sum").item() == 8.0 + 10 * (30 - 5)
    assert [metric(outputs.numpy(), y.numpy()) for metric in chosen.metrics] == [17.0, pytest.approx(np.sqrt(458)), 0.5]
