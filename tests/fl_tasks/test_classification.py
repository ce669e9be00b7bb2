"""Classification: accuracy, overall and per class."""

from __future__ import annotations

import pytest
import torch

from fl_data import Samples
from fl_tasks.classification import evaluate
from tests.clients.training_round import X, Y, local_round


def test_evaluation_counts_by_class_and_says_none_for_absent_ones() -> None:
    r = local_round()
    score = evaluate(r.flat.model, Samples(X[Y != 2], Y[Y != 2]), 3)
    predicted = r.flat.model(torch.from_numpy(X)).argmax(1).numpy()
    assert score.class_accuracy[2] is None
    assert score.class_accuracy[0] == pytest.approx(float((predicted[Y == 0] == 0).mean()))
    assert score.accuracy == pytest.approx(float((predicted[Y != 2] == Y[Y != 2]).mean()))
