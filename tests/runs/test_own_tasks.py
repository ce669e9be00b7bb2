"""Regression and multilabel from a table: methods reach the centralised error, others are refused by name, patience and headline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import fedloom
from fl_config.errors import ConfigError

SPLIT = np.where(np.arange(442) % 5 == 4, "test", "train")
Train = Callable[..., fedloom.Run]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Runs in a folder of its own, where diabetes.csv is."""
    monkeypatch.chdir(tmp_path)
    table = load_diabetes(as_frame=True, scaled=False).frame
    table["split"] = SPLIT
    table.to_csv("diabetes.csv", index=False)

    def run(**options: Any) -> fedloom.Run:
        usual = {"engine": "inline", "device": "cpu", "clients": 4, "partition": "iid", "model": "linear"}
        data = {"dataset": "csv:diabetes.csv", "label": "target", "task": "regression"}
        return fedloom.run(**{**usual, **data, "rounds": 2, "out": "run", **options})

    return run


@pytest.fixture(scope="module")
def centralised() -> float:
    """RMSE on the test rows of least squares on all training rows, which is where gradient descent ends."""
    x, y = load_diabetes(return_X_y=True, scaled=False)
    fitted = LinearRegression().fit(x[SPLIT == "train"], y[SPLIT == "train"])
    errors = fitted.predict(x[SPLIT == "test"]) - y[SPLIT == "test"]
    return float(np.sqrt(np.mean(errors**2)))


@pytest.mark.parametrize("strategy", ["fedavg", "fedprox", "scaffold", "feddyn"])
def test_regression_reaches_the_centralised_error(train: Train, centralised: float, strategy: str) -> None:
    run = train(strategy=strategy, rounds=25, epochs=5, batch_size=0, lr=0.1, eval_every=25)
    assert run.metrics[-1]["global/rmse"] == pytest.approx(centralised, rel=0.02)
    assert run.metrics[0]["global/rmse"] > 2 * centralised
    assert all(not record["dropped"] and len(record["cohort"]) == 4 for record in run.metrics[1:])


@pytest.mark.parametrize(("strategy", "part"), [("feddisco", "disco"), ("asd", "asd")])
def test_methods_that_need_classes_are_refused_before_anything_starts(train: Train, strategy: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        train(strategy=strategy)
    assert str(caught.value) == (
        f"The strategy {strategy!r} has {part!r}, which needs classes, and the task 'regression' has none: choose a strategy "
        f"without {part!r}."
    )
    assert not Path("run").exists()


def test_many_whole_numbers_are_not_taken_for_classes(train: Train) -> None:
    with pytest.raises(ConfigError, match="--task regression") as caught:
        train(task="classification")
    assert "classes" in str(caught.value) and "target" in str(caught.value)
    assert not Path("run").exists()


def test_patience_ends_a_run_that_counts_as_finished(train: Train) -> None:
    run = train(rounds=40, epochs=5, batch_size=0, lr=0.1, patience=2, headline="rmse")
    rmse = [record["global/rmse"] for record in run.metrics]
    best = rmse.index(min(rmse))
    assert run.finished and 3 < run.rounds < 40 and run.rounds == best + 2
    summary = json.loads((run.folder / "summary.json").read_text())
    assert summary["finished"] is True and summary["rounds"] == run.rounds
    assert summary["final"]["global/rmse"] == rmse[-1] > summary["best"]["global/rmse"] == min(rmse)
    assert summary["best"]["round"] == best


def test_multilabel_reports_its_metrics(train: Train) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 3))
    labels = (x + random.normal(0, 0.3, (200, 3)) > 0).astype(int)
    rows = [",".join(map(str, [*features, *truth])) for features, truth in zip(x, labels, strict=True)]
    Path("signs.csv").write_text("\n".join(["a,b,c,up,right,near", *rows, ""]))
    run = train(dataset="csv:signs.csv", label="up,right,near", task="multilabel", batch_size=5, lr=0.5, held_out=0.2)
    first, last = run.metrics[0], run.metrics[-1]
    for name in ("macro_f1", "micro_f1", "auroc", "subset_accuracy"):
        assert first[f"global/{name}"] < last[f"global/{name}"] <= 1
        assert len(last[f"personal/client_{name}"]) == 4
    assert last["global/auroc"] > 0.9 and last["global/macro_f1"] > 0.7
    assert run.model["head.weight"].shape == (3, 3)
