"""The server's test of a model, with a linear model whose outputs can be computed by hand."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
import torch

from fl_data import Dataset
from fl_models import build
from fl_protocol.arrays import to_record
from fl_runs.scoring import Evaluation, all_cores
from fl_tasks import METRICS, chosen_metrics, load_task

X = np.array([[1, 0], [0, 1], [0, 1]], np.float32)
Y = np.array([0, 1, 0])
DATA = Dataset("toy", "features", X, Y, X, Y, 2, ("a", "b"), None, None, False)
MODEL = {"head.weight": np.log(3) * np.eye(2, dtype=np.float32), "head.bias": np.zeros(2, np.float32)}


def evaluation(metrics: str = "", task: str = "classification") -> Evaluation:
    chosen = load_task(task)
    model = build("linear", (2,), 2, kind="features", num_outputs=1 if task == "regression" else 0)
    labels = chosen.labels(Y)
    return Evaluation(model, X, labels, DATA, torch.device("cpu"), chosen, chosen_metrics(chosen, metrics))


def test_loss_and_accuracy_by_hand() -> None:
    # The right class of the first two has the share 3/4; the third one's has 1/4.
    record = evaluation()(3, to_record(MODEL))
    assert next(iter(record)) == "accuracy", "the headline comes first"
    assert set(record) == {"accuracy", "loss", "class_accuracy"}, "the count is no figure, tables do not travel"
    assert record["accuracy"] == pytest.approx(2 / 3)
    assert record["loss"] == pytest.approx((2 * math.log(4 / 3) + math.log(4)) / 3)
    assert record["class_accuracy"] == pytest.approx([0.5, 1.0])


def test_the_model_of_the_call_is_tested_and_not_an_earlier_one() -> None:
    tested = evaluation()
    tested(0, to_record(MODEL))
    turned = {**MODEL, "head.weight": -MODEL["head.weight"]}
    assert tested(1, to_record(turned))["accuracy"] == pytest.approx(1 / 3)


def test_what_is_not_defined_travels_as_nan_and_tables_stay_here() -> None:
    tested = evaluation("accuracy,auroc,confusion")
    tested.samples.y = torch.zeros(3, dtype=torch.int64)
    record = tested(0, to_record(MODEL))
    assert math.isnan(record["auroc"]) and "confusion" not in record  # type: ignore[arg-type]


def test_tables_of_the_final_model() -> None:
    tables = evaluation().tables(MODEL)
    assert tables["confusion"] == [[1, 1], [0, 1]]
    assert [(row["count"], row["accuracy"]) for row in tables["calibration"] if row["count"]] == [
        (3, pytest.approx(2 / 3))
    ]
    assert evaluation(task="regression").tables({name: value[:1] for name, value in MODEL.items()}) == {}
    assert all(METRICS[name].better is None for name in tables)


def test_threads_come_back() -> None:
    before = torch.get_num_threads()
    with all_cores():
        assert torch.get_num_threads() == (os.cpu_count() or 1)
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), all_cores():
        raise KeyError
    assert torch.get_num_threads() == before
