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
