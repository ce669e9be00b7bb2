"""Classification: cross-entropy on class logits, and how well a model does on a set."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from fl_data import Samples
from fl_models import Model

EVALUATION_BATCH = 500


@dataclass(frozen=True)
class Score:
    """How a model does on a set: mean loss, accuracy, and accuracy a class (None for a class without samples)."""

    loss: float
    accuracy: float
    class_accuracy: list[float | None]
    count: int


@torch.no_grad()
def evaluate(model: Model, data: Samples, num_classes: int) -> Score:
    was_training = model.training
    model.eval()
    loss = 0.0
    right, seen = torch.zeros(num_classes), torch.zeros(num_classes)
    for start in range(0, len(data), EVALUATION_BATCH):
        x, y = data.batch(slice(start, start + EVALUATION_BATCH))
        assert y is not None
        logits = model(x)
        loss += float(F.cross_entropy(logits, y, reduction="sum"))
        seen += torch.bincount(y, minlength=num_classes).cpu()
        right += torch.bincount(y[logits.argmax(1) == y], minlength=num_classes).cpu()
    model.train(was_training)
    classes = [float(r / s) if s else None for r, s in zip(right, seen, strict=True)]
    return Score(loss / max(1, len(data)), float(right.sum()) / max(1, len(data)), classes, len(data))
