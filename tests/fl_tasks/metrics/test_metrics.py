"""All metrics: against scikit-learn, None where they are not defined, and no cost at start-up."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from fl_tasks import METRICS, probabilities
from tests.fl_tasks.metrics.known_outputs import GUESS, LABELS, LOGITS, MANY_LOGITS, N, figure


def test_every_metric_of_the_contract_is_there() -> None:
    assert set(METRICS) >= set(
        "accuracy balanced-accuracy macro-f1 micro-f1 auroc nll ece brier confusion calibration class-accuracy "
        "subset-accuracy rmse mae r2".split()
    )
    assert all(each.what and each.tasks for each in METRICS.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", sk.accuracy_score(LABELS, GUESS)),
        ("balanced-accuracy", sk.balanced_accuracy_score(LABELS, GUESS)),
        ("macro-f1", sk.f1_score(LABELS, GUESS, average="macro")),
        ("micro-f1", sk.accuracy_score(LABELS, GUESS)),
        ("auroc", sk.roc_auc_score(LABELS, probabilities(LOGITS), multi_class="ovr", average="macro")),
        ("nll", sk.log_loss(LABELS, probabilities(LOGITS))),
        ("brier", sk.brier_score_loss(LABELS, probabilities(LOGITS))),
        ("class-accuracy", sk.recall_score(LABELS, GUESS, average=None)),
        ("confusion", sk.confusion_matrix(LABELS, GUESS)),
    ],
)
def test_classification_as_scikit_learn_has_it(name: str, expected: Any) -> None:
    np.testing.assert_allclose(figure(name, LOGITS, LABELS), expected, rtol=1e-6)


def test_figures_that_are_not_defined_are_none() -> None:
    assert figure("auroc", LOGITS[:, :2], np.zeros(N, dtype=int)) is None
    assert figure("auroc", LOGITS, np.full(N, 3)) is None
    assert figure("auroc", MANY_LOGITS, np.zeros((N, 4))) is None
    assert figure("r2", [[1.0], [2.0]], [5.0, 5.0]) is None and figure("r2", [[1.0]], [5.0]) is None
    assert figure("class-accuracy", [[2.0, 1.0, 0.0]], [0]) == [1.0, None, None]
    for name in METRICS:
        assert figure(name, np.zeros((0, 3)), np.zeros(0, dtype=int)) is None
    broken = LOGITS.copy()
    broken[7] = np.nan
    for name in ("auroc", "nll", "ece", "brier", "calibration"):
        assert figure(name, broken, LABELS) is None
    assert 0.0 < figure("accuracy", broken, LABELS) < 1.0


def test_absent_classes_do_not_count() -> None:
    some = LABELS < 3
    outputs, labels = LOGITS[some], LABELS[some]
    each = [sk.roc_auc_score(labels == c, probabilities(outputs)[:, c]) for c in range(3)]
    assert figure("auroc", outputs, labels) == pytest.approx(np.mean(each))
    accuracies = [(outputs.argmax(1)[labels == c] == c).mean() for c in range(3)]
    assert figure("balanced-accuracy", outputs, labels) == pytest.approx(np.mean(accuracies))


def test_start_up_does_not_pay_for_scikit_learn() -> None:
    code = (
        "import sys, fl_tasks, fl_tasks.evaluation; print([m for m in ('sklearn', 'torchvision') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
