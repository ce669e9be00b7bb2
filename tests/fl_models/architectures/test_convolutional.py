"""Pooling before the ReLU is what the papers print the other way round."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from fl_models import build
from tests.fl_models.architectures.every_model import batch


def test_pooling_before_relu_changes_neither_outputs_nor_gradients() -> None:
    model = build("lenet", (1, 28, 28), 10)
    x, y = batch("lenet", (1, 28, 28))
    logits = model(x)
    F.cross_entropy(logits, y).backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    body = model.body
    h = F.max_pool2d(F.relu(body.get_submodule("conv1")(x)), 2)
    h = F.max_pool2d(F.relu(body.get_submodule("conv2")(h)), 2).flatten(1)
    h = F.relu(body.get_submodule("fc2")(F.relu(body.get_submodule("fc1")(h))))
    as_printed = model.head(h)
    F.cross_entropy(as_printed, y).backward()
    assert torch.equal(logits, as_printed)
    assert len(gradients) == 10
    assert all(torch.equal(g, p.grad) for g, p in zip(gradients, model.parameters(), strict=True) if p.grad is not None)
