"""Shares of right predictions: by hand, and of several labels as scikit-learn has them."""

from __future__ import annotations

import pytest
from sklearn import metrics as sk

from tests.fl_tasks.metrics.known_outputs import MANY, MANY_LOGITS, figure


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("macro-f1", sk.f1_score(MANY, MANY_LOGITS > 0, average="macro")),
        ("micro-f1", sk.f1_score(MANY, MANY_LOGITS > 0, average="micro")),
        ("subset-accuracy", sk.accuracy_score(MANY, MANY_LOGITS > 0)),
        ("auroc", sk.roc_auc_score(MANY, MANY_LOGITS, average="macro")),
    ],
)
def test_multilabel_as_scikit_learn_has_it(name: str, expected: float) -> None:
    assert figure(name, MANY_LOGITS, MANY) == pytest.approx(expected, rel=1e-6)


def test_three_of_four_by_hand() -> None:
    # Classes 0, 0, 0, 1 predicted as 0, 0, 1, 1; nobody is of class 2.
    outputs, labels = [[3, 1, 0], [2, 0, 1], [0, 5, 1], [0, 1, 0]], [0, 0, 0, 1]
    assert figure("accuracy", outputs, labels) == 0.75 == figure("micro-f1", outputs, labels)
    assert figure("class-accuracy", outputs, labels) == [pytest.approx(2 / 3), 1.0, None]
    assert figure("balanced-accuracy", outputs, labels) == pytest.approx((2 / 3 + 1) / 2)
    assert figure("macro-f1", outputs, labels) == pytest.approx((0.8 + 2 / 3) / 2)
    assert figure("confusion", outputs, labels) == [[2, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_all_labels_of_a_sample_must_be_right() -> None:
    outputs, labels = [[1, -1], [1, 1], [-1, -1]], [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert figure("subset-accuracy", outputs, labels) == pytest.approx(2 / 3)
