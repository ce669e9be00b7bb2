"""What is told and written about predictions; learning them from a real run is in tests/fedloom/cli/test_predict.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fl_config.errors import ConfigError
from fl_runs.prediction import Predictions, open_run, write_predictions


def predictions(labels: list[int] | None) -> Predictions:
    return Predictions(
        chosen=np.array([3, 8]),
        learned=torch.tensor([[0.0, 1.0], [2.0, 0.0]]),
        ensemble=torch.tensor([[0.0, 1.0], [0.0, 2.0]]),
        weights=torch.tensor([[0.25, 0.75], [0.75, 0.25]]),
        labels=None if labels is None else torch.tensor(labels),
        clients=["north", "south"],
    )


def test_told_with_and_without_labels() -> None:
    first = ["2 samples, 2 client models", "mean weight: north 0.500, south 0.500"]
    accuracies = ["accuracy, weights learned per sample: 1.0000", "accuracy, plain ensemble: 0.5000"]
    assert predictions([1, 0]).told() == first + accuracies
    assert predictions(None).told() == [*first, "the two agree on 0.5000 of the samples"]


def test_one_line_per_sample(tmp_path: Path) -> None:
    write_predictions(tmp_path / "p.jsonl", predictions([1, 0]))
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert lines == [
        {"sample": 3, "learned": 1, "ensemble": 1, "weights": [0.25, 0.75], "label": 1},
        {"sample": 8, "learned": 0, "ensemble": 1, "weights": [0.75, 0.25], "label": 0},
    ]
    write_predictions(tmp_path / "p.jsonl", predictions(None))
    assert "label" not in (tmp_path / "p.jsonl").read_text()


def test_folders_without_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not a run folder: it has no config\.toml"):
        open_run(tmp_path)
    (tmp_path / "config.toml").write_text('strategy = "fedavg"\n')
    with pytest.raises(ConfigError, match="did not keep its clients' models: .*--set ssa.mode=sample_wise"):
        open_run(tmp_path)
