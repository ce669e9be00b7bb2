"""Outputs of models and the labels that belong to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fl_tasks import METRICS

RNG = np.random.default_rng(4)
N, C = 400, 5
LABELS = RNG.integers(0, C, size=N)
LOGITS = (RNG.normal(size=(N, C)) * 2 + 2 * np.eye(C)[LABELS]).astype(np.float32)
GUESS = LOGITS.argmax(1)
TARGETS = RNG.normal(150, 70, size=N).astype(np.float32)
GUESSES = (TARGETS + RNG.normal(0, 30, size=N)).astype(np.float32)[:, None]
MANY = (RNG.random((N, 4)) < [0.5, 0.2, 0.8, 0.4]).astype(np.float32)
MANY_LOGITS = (RNG.normal(size=(N, 4)) + 2 * MANY - 1).astype(np.float32)


def figure(name: str, outputs: Any, labels: Any) -> Any:
    return METRICS[name](np.asarray(outputs, dtype=np.float32), np.asarray(labels))
