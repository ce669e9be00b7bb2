"""Multilabel: binary cross-entropy by hand."""

from __future__ import annotations

import math

import torch

from fl_tasks import Multilabel

LOGITS = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0]])


def test_binary_cross_entropy_by_hand() -> None:
    task = Multilabel()
    y = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    rows = [(math.log(2) + math.log(4 / 3)) / 2, (math.log(5) + math.log(2)) / 2]
    torch.testing.assert_close(task.loss(LOGITS, y, "none"), torch.tensor(rows))
    torch.testing.assert_close(task.loss(LOGITS, y, "sum"), torch.tensor(sum(rows)))
    torch.testing.assert_close(task.loss(LOGITS, y), torch.tensor(sum(rows) / 2))
