"""RMSE, MAE and R2: against scikit-learn, and averaged over several targets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk

from tests.fl_tasks.metrics.known_outputs import GUESSES, TARGETS, figure


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rmse", sk.root_mean_squared_error(TARGETS, GUESSES)),
        ("mae", sk.mean_absolute_error(TARGETS, GUESSES)),
        ("r2", sk.r2_score(TARGETS, GUESSES)),
    ],
)
def test_regression_as_scikit_learn_has_it(name: str, expected: float) -> None:
    assert figure(name, GUESSES, TARGETS) == pytest.approx(expected, rel=1e-6)


def test_several_targets_are_averaged() -> None:
    outputs, labels = [[1.0, 0.0], [3.0, 0.0]], [[1.0, 3.0], [1.0, 3.0]]
    assert figure("mae", outputs, labels) == 2.0
    assert figure("rmse", outputs, labels) == pytest.approx((np.sqrt(2) + 3) / 2)
    assert figure("r2", [[1.0, 9.0], [3.0, 9.0]], [[1.0, 2.0], [3.0, 2.0]]) == 1.0
