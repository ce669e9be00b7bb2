"""What all tasks have: labels checked with sentences, losses in mixed precision, the number of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fl_config.errors import ConfigError
from fl_tasks import CLASSES, TASKS, Classification, Multilabel, Regression, Task


def test_what_the_tasks_say_of_themselves() -> None:
    assert {name: task.headline for name, task in TASKS.items()} == {
        "classification": "accuracy",
        "regression": "rmse",
        "multilabel": "macro-f1",
    }
    assert [name for name, task in TASKS.items() if CLASSES in task.offers] == ["classification"]


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


def test_what_was_found_in_words() -> None:
    assert Classification().found(np.array([0, 4, 4])) == "2 classes on 3 samples"
    assert Regression().found(np.array([1.5, 300.0])) == "a number per sample, 1.5 to 300, on 2 samples"
    assert (
        Multilabel().found(np.array([[1, 0, 1], [0, 0, 1]])) == "3 labels, of which 1.50 hold on average, on 2 samples"
    )
