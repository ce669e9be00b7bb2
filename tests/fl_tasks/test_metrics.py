"""Metrics: by hand, against scikit-learn, None where they are not defined; the choice of them; metrics of one's own."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from fl_config.errors import ConfigError
from fl_models.loading import from_text
from fl_tasks import METRICS, Classification, Multilabel, Regression, Task, chosen_metrics, metric, probabilities
from fl_tasks.metrics import registry

RNG = np.random.default_rng(4)
N, C = 400, 5
LABELS = RNG.integers(0, C, size=N)
LOGITS = (RNG.normal(size=(N, C)) * 2 + 2 * np.eye(C)[LABELS]).astype(np.float32)
GUESS = LOGITS.argmax(1)
TARGETS = RNG.normal(150, 70, size=N).astype(np.float32)
GUESSES = (TARGETS + RNG.normal(0, 30, size=N)).astype(np.float32)[:, None]
MANY = (RNG.random((N, 4)) < [0.5, 0.2, 0.8, 0.4]).astype(np.float32)
MANY_LOGITS = (RNG.normal(size=(N, 4)) + 2 * MANY - 1).astype(np.float32)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def figure(name: str, outputs: Any, labels: Any) -> Any:
    return METRICS[name](np.asarray(outputs, dtype=np.float32), np.asarray(labels))


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


def test_several_targets_are_averaged() -> None:
    outputs, labels = [[1.0, 0.0], [3.0, 0.0]], [[1.0, 3.0], [1.0, 3.0]]
    assert figure("mae", outputs, labels) == 2.0
    assert figure("rmse", outputs, labels) == pytest.approx((np.sqrt(2) + 3) / 2)
    assert figure("r2", [[1.0, 9.0], [3.0, 9.0]], [[1.0, 2.0], [3.0, 2.0]]) == 1.0


def test_a_task_chooses_for_itself() -> None:
    chosen = chosen_metrics(Classification())
    assert (chosen.names, chosen.headline, chosen.better) == (("accuracy", "class-accuracy"), "accuracy", "more")
    assert chosen_metrics(Regression()).better == "less" and chosen_metrics(Multilabel()).headline_key == "macro_f1"


@pytest.mark.parametrize(
    ("text", "headline", "names", "chief", "better"),
    [
        ("auroc, macro-f1", "", ("auroc", "macro-f1"), "auroc", "more"),
        ("auroc,accuracy", "", ("auroc", "accuracy"), "accuracy", "more"),
        ("confusion,ece", "", ("confusion", "ece"), "ece", "less"),
        ("auroc", "ece", ("auroc", "ece"), "ece", "less"),
        ("", "loss", ("accuracy", "class-accuracy"), "loss", "less"),
        ("loss,auroc,auroc", "", ("auroc",), "auroc", "more"),
        ("confusion", "", ("confusion", "accuracy"), "accuracy", "more"),
    ],
)
def test_choices_of_the_user(text: str, headline: str, names: tuple[str, ...], chief: str, better: str) -> None:
    chosen = chosen_metrics(Classification(), text, headline)
    assert (chosen.names, chosen.headline, chosen.better) == (names, chief, better)
    assert [each.name for each in chosen.metrics] == list(names)


@pytest.mark.parametrize(
    ("task", "text", "headline", "sentence"),
    [
        (
            Classification(),
            "aurok",
            "",
            r"no metric 'aurok'; did you mean 'auroc'\? The metrics of classification are: acc",
        ),
        (Classification(), "auroc,", "", "no metric ''"),
        (Classification(), "rmse", "", "'rmse' is for regression, but the task is classification, whose metrics are"),
        (Regression(), "", "accuracy", "'accuracy' is for classification, but the task is regression.*rmse, mae, r2"),
        (Regression(), "", "macro-f1", "for classification and multilabel, but"),
        (Classification(), "", "confusion", "'confusion' is a list or a table"),
    ],
)
def test_wrong_choices_are_sentences(task: Task, text: str, headline: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        chosen_metrics(task, text, headline)


def test_what_is_an_improvement() -> None:
    more, less = chosen_metrics(Classification()), chosen_metrics(Regression())
    assert more.improves(0.5, 0.4) and not more.improves(0.4, 0.4) and not less.improves(0.5, 0.4)
    assert less.improves(0.3, 0.4) and less.improves(3.0, None) and less.improves(3.0, float("nan"))
    assert not more.improves(None, 0.1) and not more.improves(float("nan"), None)


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "METRICS", dict(METRICS))


OWN = """
from fl_tasks import metric

@metric("within-ten", better="more", tasks=("regression",))
def within_ten(outputs, labels):
    "Share of predictions at most 10 away."
    return float((abs(outputs[:, 0] - labels) <= 10).mean())
"""


def test_a_metric_of_ones_own(own_registry: None) -> None:
    from_text("my_metrics.py", OWN)
    from_text("my_metrics.py", OWN + "\n")  # the file was edited and loaded once more
    chosen = chosen_metrics(Regression(), "rmse,within-ten", "within-ten")
    assert chosen.better == "more" and chosen.metrics[1].key == "within_ten"
    assert chosen.metrics[1].what == "Share of predictions at most 10 away."
    outputs = np.array([[1.0], [2.0]], dtype=np.float32)
    assert chosen.metrics[1](outputs, np.array([11.0, 13.0])) == 0.5
    with pytest.raises(ConfigError, match="is for regression"):
        chosen_metrics(Classification(), "within-ten")
    with pytest.raises(ConfigError, match="There is a metric 'within-ten' already"):
        metric("within-ten", better="more")(lambda outputs, labels: 0.0)


def test_a_metric_that_fails_or_is_named_badly_is_a_sentence(own_registry: None) -> None:
    metric("odd", better="more")(lambda outputs, labels: outputs / "a")
    metric("wordy", better="more")(lambda outputs, labels: "good")
    metric("unbounded", better="more")(lambda outputs, labels: np.float64("inf"))
    with pytest.raises(ConfigError, match="The metric 'odd' failed: "):
        registry.METRICS["odd"](LOGITS, LABELS)
    with pytest.raises(ConfigError, match="The metric 'wordy' failed: ValueError"):
        registry.METRICS["wordy"](LOGITS, LABELS)
    assert registry.METRICS["unbounded"](LOGITS, LABELS) is None
    for name in ("", "loss", "a,b", "a b"):
        with pytest.raises(ConfigError, match="cannot be called"):
            metric(name, better="more")
    with pytest.raises(ConfigError, match="better='high', but it is"):
        metric("mine", better="high")  # type: ignore[arg-type]


def test_start_up_does_not_pay_for_scikit_learn() -> None:
    code = (
        "import sys, fl_tasks, fl_tasks.evaluation; print([m for m in ('sklearn', 'torchvision') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
