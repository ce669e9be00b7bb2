"""Regression: the squared error by hand."""

from __future__ import annotations

import torch

from fl_tasks import Regression


def test_squared_error_by_hand() -> None:
    task = Regression()
    outputs, y = torch.tensor([[1.0], [5.0]]), torch.tensor([2.0, 2.0])
    assert task.loss(outputs, y).item() == 5.0 and task.loss(outputs, y, "sum").item() == 10.0
    assert task.loss(outputs.squeeze(1), y).item() == 5.0
    rows, targets = torch.tensor([[1.0, 2.0], [3.0, 3.0]]), torch.tensor([[0.0, 0.0], [3.0, 1.0]])
    assert task.loss(rows, targets, "none").tolist() == [2.5, 2.0]
    assert task.loss(rows, targets, "sum").item() == 4.5 and task.loss(rows, targets).item() == 2.25
