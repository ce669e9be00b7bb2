"""How well a model does on a set: the task's mean loss and the chosen metrics, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from fl_data import Samples
from fl_models import Model
from fl_tasks.base import Task
from fl_tasks.classification import EVALUATION_BATCH, Classification
from fl_tasks.classification import evaluate as evaluate_classes
from fl_tasks.metrics import ChosenMetrics, Metric

COUNTED = {"accuracy", "class-accuracy"}  # what the pass of plain classification counts as it goes, keeping no outputs


def evaluate(model: Model, samples: Samples, task: Task, metrics: ChosenMetrics | Iterable[Metric]) -> dict[str, Any]:
    """`loss`, `count` (samples), and every metric by its key; None where a metric is not defined for the set."""
    chosen = metrics.metrics if isinstance(metrics, ChosenMetrics) else tuple(metrics)
    if type(task) is Classification and {each.name for each in chosen} <= COUNTED:
        score = evaluate_classes(model, samples)
        return {"loss": score.loss, "count": score.count, **{each.key: getattr(score, each.key) for each in chosen}}
    return evaluate_outputs(model, samples, task, chosen)


@torch.no_grad()
def evaluate_outputs(model: Model, samples: Samples, task: Task, metrics: Iterable[Metric]) -> dict[str, Any]:
    """The same for any task and metric, from all outputs together."""
    was_training = model.training
    model.eval()
    loss = 0.0
    outputs, labels = [], []
    try:
        for start in range(0, len(samples), EVALUATION_BATCH):
            x, y = samples.batch(slice(start, start + EVALUATION_BATCH))
            assert y is not None
            out = model(x)
            loss += float(task.loss(out, y, reduction="sum"))
            outputs.append(out.reshape(len(y), -1).float().cpu().numpy())
            labels.append(y.cpu().numpy())
    finally:
        model.train(was_training)
    known: dict[str, Any] = {"loss": loss / max(1, len(samples)), "count": len(samples)}
    if not outputs:
        return {**known, **{each.key: None for each in metrics}}
    everything, truth = np.concatenate(outputs), np.concatenate(labels)
    return {**known, **{each.key: each(everything, truth) for each in metrics}}
