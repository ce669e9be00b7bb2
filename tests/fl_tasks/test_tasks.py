"""Tasks: losses by hand and as torch has them, labels checked with sentences, tasks of one's own."""

from __future__ import annotations

import math
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
from fl_tasks import CLASSES, TASKS, Classification, Multilabel, Regression, Task, load_task

LOGITS = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0]])


def test_what_the_tasks_say_of_themselves() -> None:
    assert {name: task.headline for name, task in TASKS.items()} == {
        "classification": "accuracy",
        "regression": "rmse",
        "multilabel": "macro-f1",
    }
    assert [name for name, task in TASKS.items() if CLASSES in task.offers] == ["classification"]


def test_cross_entropy_by_hand_and_to_the_bit() -> None:
    task, y = Classification(), torch.tensor([1, 1])
    by_hand = [math.log(4 / 3), math.log(5)]
    torch.testing.assert_close(task.loss(LOGITS, y, "none"), torch.tensor(by_hand))
    torch.testing.assert_close(task.loss(LOGITS, y), torch.tensor(sum(by_hand) / 2))
    logits = torch.randn(50, 10)
    labels = torch.arange(50) % 10
    assert torch.equal(task.loss(logits, labels), F.cross_entropy(logits, labels))


def test_squared_error_by_hand() -> None:
    task = Regression()
    outputs, y = torch.tensor([[1.0], [5.0]]), torch.tensor([2.0, 2.0])
    assert task.loss(outputs, y).item() == 5.0 and task.loss(outputs, y, "sum").item() == 10.0
    assert task.loss(outputs.squeeze(1), y).item() == 5.0
    rows, targets = torch.tensor([[1.0, 2.0], [3.0, 3.0]]), torch.tensor([[0.0, 0.0], [3.0, 1.0]])
    assert task.loss(rows, targets, "none").tolist() == [2.5, 2.0]
    assert task.loss(rows, targets, "sum").item() == 4.5 and task.loss(rows, targets).item() == 2.25


def test_binary_cross_entropy_by_hand() -> None:
    task = Multilabel()
    y = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    rows = [(math.log(2) + math.log(4 / 3)) / 2, (math.log(5) + math.log(2)) / 2]
    torch.testing.assert_close(task.loss(LOGITS, y, "none"), torch.tensor(rows))
    torch.testing.assert_close(task.loss(LOGITS, y, "sum"), torch.tensor(sum(rows)))
    torch.testing.assert_close(task.loss(LOGITS, y), torch.tensor(sum(rows) / 2))


@pytest.mark.parametrize("task", [Classification(), Regression(), Multilabel()])
def test_losses_work_in_mixed_precision(task: Task) -> None:
    y = task.labels(np.array([[1, 0], [0, 1]]) if isinstance(task, Multilabel) else np.array([0, 1]))
    layer = torch.nn.Linear(3, task.num_outputs(y))
    with torch.autocast("cpu", torch.bfloat16):
        loss = task.loss(layer(torch.ones(2, 3)), torch.from_numpy(y))
    loss.backward()
    assert loss.dtype == torch.float32 and layer.weight.grad is not None


@pytest.mark.parametrize(
    ("task", "given", "expected"),
    [
        (Classification(), [0, 2, 1], np.array([0, 2, 1], dtype=np.int64)),
        (Classification(), [0.0, 2.0], np.array([0, 2], dtype=np.int64)),
        (Classification(), [True, False], np.array([1, 0], dtype=np.int64)),
        (Regression(), [1, 2, 7], np.array([1, 2, 7], dtype=np.float32)),
        (Regression(), [[1.5, 2]], np.array([[1.5, 2]], dtype=np.float32)),
        (Multilabel(), [[1, 0], [False, True]], np.array([[1, 0], [0, 1]], dtype=np.float32)),
    ],
)
def test_labels_get_the_type_of_the_task(task: Task, given: Any, expected: np.ndarray) -> None:
    labels = task.labels(np.array(given))
    np.testing.assert_array_equal(labels, expected)
    assert labels.dtype == expected.dtype == task.label_type


@pytest.mark.parametrize(
    ("task", "given", "sentence"),
    [
        (Classification(), [0.0, 0.5], "whole numbers as labels, but mine has 0.5: is it --task regression"),
        (Classification(), [0, -1], "counts classes from 0, but mine has the label -1"),
        (Classification(), [[0, 1]], r"shape \(1, 2\): is it --task multilabel"),
        (Classification(), ["cat"], "needs numbers as labels, but those of mine are <U3"),
        (Regression(), [1.0, np.nan, np.inf], "needs finite labels, but 2 of those of mine"),
        (Regression(), [[[1.0]]], r"shape \(1, 1, 1\)"),
        (Multilabel(), [0, 1], "is it --task classification"),
        (Multilabel(), [[0, 2]], "zeros and ones as labels, but mine has 2"),
    ],
)
def test_labels_of_another_task_are_a_sentence(task: Task, given: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        task.labels(np.array(given), "mine")


def test_how_many_outputs_a_model_needs() -> None:
    assert Classification().num_outputs(np.array([0, 3]), 10) == 10
    assert Classification().num_outputs(np.array([0, 3])) == 4
    assert Regression().num_outputs(np.zeros(5)) == 1 and Regression().num_outputs(np.zeros((5, 3))) == 3
    assert Multilabel().num_outputs(np.zeros((5, 6))) == 6


def test_a_number_is_not_taken_for_classes_in_silence() -> None:
    task = Classification()
    target = np.arange(442) // 2  # such as scikit-learn's diabetes, of 214 different whole numbers
    with pytest.raises(ConfigError, match="221 different values on 442 samples.*--task regression"):
        task.check_dataset(target)
    Regression().check_dataset(target.astype(np.float32))
    task.check_dataset(np.arange(1000) % 100)
    task.check_dataset(np.arange(24) % 3)
    with pytest.raises(ConfigError, match="11 different"):
        task.check_dataset(np.arange(109) % 11)


def test_what_was_found_in_words() -> None:
    assert Classification().found(np.array([0, 4, 4])) == "2 classes on 3 samples"
    assert Regression().found(np.array([1.5, 300.0])) == "a number per sample, 1.5 to 300, on 2 samples"
    assert (
        Multilabel().found(np.array([[1, 0, 1], [0, 0, 1]])) == "3 labels, of which 1.50 hold on average, on 2 samples"
    )


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
