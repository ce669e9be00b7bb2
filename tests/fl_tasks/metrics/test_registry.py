"""Metrics by name: the choice of them, a sentence for every mistake, metrics of one's own, the page's table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_models.loading import from_text
from fl_tasks import (
    METRICS,
    TASKS,
    Classification,
    Multilabel,
    Regression,
    Task,
    chosen_metrics,
    metric,
)
from fl_tasks.metrics import registry
from tests.fl_tasks.metrics.known_outputs import LABELS, LOGITS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tasks.md").read_text(encoding="utf-8")


def test_the_table_of_metrics_is_complete() -> None:
    rows = dict(re.findall(r"^\| (`[^|]*`) \| ([^|]*) \| (?:more|less|-) \|", PAGE, re.MULTILINE))
    told = {name: tasks.split(", ") for names, tasks in rows.items() for name in re.findall(r"`([^`]*)`", names)}
    assert told == {name: list(each.tasks) for name, each in METRICS.items()}
    for name, task in TASKS.items():
        assert re.search(rf"^\| `{name}`.*" + ".*".join(f"`{metric}`" for metric in task.metrics), PAGE, re.MULTILINE)


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
