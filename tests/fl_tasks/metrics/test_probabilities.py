"""AUROC, NLL, Brier and calibration by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fl_tasks.metrics.known_outputs import figure


def test_two_classes_by_hand() -> None:
    logits = [[0.0, 1.0], [0.0, 3.0], [0.0, 2.0], [0.0, -1.0]]
    # Scores 3, 2, 1, -1 with labels 1, 0, 1, 0: three of the four pairs are in order.
    assert figure("auroc", logits, [1, 1, 0, 0]) == 0.75
    sure = [[0.0, 60.0], [0.0, 70.0]]  # probabilities are 1 - 9e-27 and nearer: equal in float64
    assert figure("auroc", sure, [0, 1]) == 1.0
    even = [[0.0, 0.0], [0.0, np.log(3)]]
    assert figure("brier", even, [0, 1]) == pytest.approx((0.25 + 0.0625) / 2)
    assert figure("nll", even, [0, 1]) == pytest.approx((np.log(2) + np.log(4 / 3)) / 2)
    assert figure("nll", [[0.0, 2000.0]], [0]) == pytest.approx(2000.0)


def test_calibration_by_hand() -> None:
    # Confidences 0.75, 0.75 and 0.6 lie in the bins (11/15, 12/15] and (8/15, 9/15]; one of the first two is right.
    logits = [[np.log(3), 0.0], [np.log(3), 0.0], [0.0, np.log(1.5)]]
    labels = [0, 1, 1]
    assert figure("ece", logits, labels) == pytest.approx((2 * 0.25 + 1 * 0.4) / 3, rel=1e-6)
    table = figure("calibration", logits, labels)
    assert len(table) == 15 and [row["count"] for row in table if row["count"]] == [1, 2]
    assert table[11] == {
        "above": 11 / 15,
        "to": 12 / 15,
        "count": 2,
        "confidence": pytest.approx(0.75),
        "accuracy": 0.5,
    }
    assert table[0]["accuracy"] is None
