"""Classification: cross-entropy by hand, accuracy overall and per class, numbers that are no classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fl_config.errors import ConfigError
from fl_data import Samples
from fl_tasks import Classification, Regression
from fl_tasks.classification import evaluate
from tests.clients.training_round import X, Y, local_round


def test_evaluation_counts_by_class_and_says_none_for_absent_ones() -> None:
    r = local_round()
    score = evaluate(r.flat.model, Samples(X[Y != 2], Y[Y != 2]), 3)
    predicted = r.flat.model(torch.from_numpy(X)).argmax(1).numpy()
    assert score.class_accuracy[2] is None
    assert score.class_accuracy[0] == pytest.approx(float((predicted[Y == 0] == 0).mean()))
    assert score.accuracy == pytest.approx(float((predicted[Y != 2] == Y[Y != 2]).mean()))


LOGITS = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0]])


def test_cross_entropy_by_hand_and_to_the_bit() -> None:
    task, y = Classification(), torch.tensor([1, 1])
    by_hand = [math.log(4 / 3), math.log(5)]
    torch.testing.assert_close(task.loss(LOGITS, y, "none"), torch.tensor(by_hand))
    torch.testing.assert_close(task.loss(LOGITS, y), torch.tensor(sum(by_hand) / 2))
    logits = torch.randn(50, 10)
    labels = torch.arange(50) % 10
    assert torch.equal(task.loss(logits, labels), F.cross_entropy(logits, labels))


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
