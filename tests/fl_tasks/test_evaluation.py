"""Evaluating: plain classification gives the bits it always gave, every other task and metric goes through one pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes, load_digits
from torch import nn

from fl_config.seeds import seeded
from fl_data import Samples
from fl_models import Model, build, wrap
from fl_models.flat import FlatModel
from fl_tasks import Classification, Multilabel, Regression, Task, chosen_metrics
from fl_tasks.classification import evaluate as evaluate_classes
from fl_tasks.evaluation import evaluate, evaluate_outputs

GREY = SimpleNamespace(kind="image", mean=(0.3,), std=(0.35,), flips=False)


def digits() -> Samples:
    bunch = load_digits()
    return Samples((bunch.images[:, None] * 15.9375).astype(np.uint8), bunch.target, GREY)


class Labelled:
    """Samples whose labels are not whole numbers."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, index: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return self.x[index], self.y[index]


def trained(model: Model, data: Any, task: Task, steps: int, lr: float) -> Model:
    flat = FlatModel(model)
    for step in range(steps):
        x, y = data.batch(slice(step % 8 * 50, step % 8 * 50 + 50))
        flat.zero_grad()
        task.loss(model(x), y).backward()
        flat.theta.add_(flat.grad, alpha=-lr)
    return model


def reference(model: Model, data: Samples, num_classes: int) -> dict[str, Any]:
    """What the project's evaluation was before there were tasks."""
    model.eval()
    loss = 0.0
    right, seen = torch.zeros(num_classes), torch.zeros(num_classes)
    with torch.no_grad():
        for start in range(0, len(data), 500):
            x, y = data.batch(slice(start, start + 500))
            assert y is not None
            logits = model(x)
            loss += float(F.cross_entropy(logits, y, reduction="sum"))
            seen += torch.bincount(y, minlength=num_classes)
            right += torch.bincount(y[logits.argmax(1) == y], minlength=num_classes)
    return {
        "loss": loss / len(data),
        "count": len(data),
        "accuracy": float(right.sum()) / len(data),
        "class_accuracy": [float(r / s) if s else None for r, s in zip(right, seen, strict=True)],
    }


@pytest.mark.parametrize("name", ["mlp:50", "lenet", "linear"])
@pytest.mark.parametrize("steps", [0, 25])
def test_classification_gives_the_bits_it_always_gave(name: str, steps: int) -> None:
    data, task = digits(), Classification()
    model = trained(build(name, (1, 8, 8), 10, seed=2), data, task, steps, 0.05)
    expected = reference(model, data, 10)
    model.train()
    chosen = chosen_metrics(task)
    assert evaluate(model, data, task, chosen) == expected
    assert evaluate_outputs(model, data, task, chosen.metrics) == expected
    score = evaluate_classes(model, data, 10)
    assert vars(score) == expected and vars(evaluate_classes(model, data)) == expected
    assert model.training and expected["accuracy"] != 0.0


def test_more_metrics_leave_the_others_as_they_are() -> None:
    data, task = digits(), Classification()
    model = trained(build("mlp:50", (1, 8, 8), 10, seed=2), data, task, 25, 0.05)
    few = evaluate(model, data, task, chosen_metrics(task))
    many = evaluate(model, data, task, chosen_metrics(task, "accuracy,class-accuracy,auroc,ece,nll,confusion"))
    assert {key: many[key] for key in few} == few
    assert many["nll"] == pytest.approx(few["loss"], rel=1e-6)
    assert np.trace(many["confusion"]) / many["count"] == few["accuracy"] and 0.9 < many["auroc"] <= 1.0
    assert evaluate(model, data, task, chosen_metrics(task, "accuracy")).keys() == {"loss", "count", "accuracy"}


def test_classes_without_samples_are_none_in_both_ways() -> None:
    data = digits()
    assert data.y is not None
    keep = (data.y < 7).numpy()
    some = Samples(data.x.numpy()[keep], data.y.numpy()[keep], GREY)
    model, task = build("linear", (1, 8, 8), 10, seed=2), Classification()
    figures = evaluate(model, some, task, chosen_metrics(task))
    assert figures["class_accuracy"][7:] == [None] * 3
    assert evaluate_outputs(model, some, task, chosen_metrics(task).metrics) == figures


def test_modes_come_back_also_after_a_failure() -> None:
    data, task = digits(), Classification()
    wrong = build("linear", (1, 9, 9), 10).train()
    for names in ("accuracy", "auroc"):
        with pytest.raises(RuntimeError):
            evaluate(wrong, data, task, chosen_metrics(task, names))
        assert wrong.training
    dropping = wrap(nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 10))).train()
    with seeded(1, "draws"):
        one, other = (evaluate(dropping, data, task, chosen_metrics(task, "auroc")) for _ in range(2))
    assert one == other and dropping.training


def test_regression_in_the_units_of_the_target() -> None:
    x, y = load_diabetes(return_X_y=True)
    task = Regression()
    data = Labelled(x * 20, task.labels(y))
    model = trained(build("linear", (10,), 0, kind="features", num_outputs=1), data, task, 400, 0.1)
    figures = evaluate(model, data, task, chosen_metrics(task))  # type: ignore[arg-type]
    # The least squares on the whole set, which no linear model beats, has an RMSE of 53.48.
    assert 53.47 < figures["rmse"] < 56 and figures["loss"] == pytest.approx(figures["rmse"] ** 2, rel=1e-5)
    assert 0.46 < figures["r2"] < 0.518 and figures["mae"] < figures["rmse"] and figures["count"] == 442


def test_a_model_with_a_vector_of_outputs_is_a_regression_too() -> None:
    task = Regression()
    data = Labelled(np.ones((7, 3)), task.labels(np.arange(7)))
    model = wrap(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)))
    figures = evaluate(model, data, task, chosen_metrics(task))  # type: ignore[arg-type]
    guess = model(data.x)[0].item()
    assert figures["mae"] == pytest.approx(np.abs(np.arange(7) - guess).mean(), rel=1e-5)


def test_multilabel() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(700, 6))
    task = Multilabel()
    data = Labelled(x, task.labels(x[:, :3] + 0.3 * rng.normal(size=(700, 3)) > 0))
    model = trained(build("linear", (6,), 0, kind="features", num_outputs=3), data, task, 200, 0.5)
    figures = evaluate(model, data, task, chosen_metrics(task))  # type: ignore[arg-type]
    assert figures["auroc"] > 0.95 and figures["macro_f1"] > 0.85 and figures["subset_accuracy"] > 0.65
    assert figures.keys() == {"loss", "count", "macro_f1", "micro_f1", "auroc", "subset_accuracy"}


def test_an_empty_set() -> None:
    task = Classification()
    data = Samples(np.zeros((0, 4), dtype=np.float32), np.zeros(0, dtype=np.int64))
    model = build("linear", (4,), 3, kind="features")
    assert evaluate(model, data, task, chosen_metrics(task, "auroc")) == {"loss": 0.0, "count": 0, "auroc": None}
    assert evaluate(model, data, task, chosen_metrics(task))["count"] == 0
    assert evaluate_classes(model, data, 3).class_accuracy == [None] * 3
