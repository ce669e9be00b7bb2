"""How different the clients' labels are: counts, and their distance to the labels of all clients together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fl_data.discrepancy import kl


def label_counts(labels: np.ndarray, parts: Sequence[np.ndarray], num_classes: int) -> np.ndarray:
    """Samples of each class at each client, [clients, classes].

    Where a sample may have several classes, all of them count. Where labels are numbers (`num_classes` is 0) there is
    nothing to count but samples: one column per number, each with the clients' sizes.
    """
    labels = np.asarray(labels)
    if num_classes == 0 or labels.ndim == 2:
        several = labels.reshape(len(labels), -1)
        marks = np.ones_like(several, dtype=np.int64) if num_classes == 0 else several.astype(np.int64)
        rows = [marks[part].sum(0) for part in parts]
        return np.stack(rows) if rows else np.zeros((0, marks.shape[1]), dtype=np.int64)
    labels = labels.astype(np.int64)
    rows = [np.bincount(labels[part], minlength=num_classes) for part in parts]
    return np.stack(rows).astype(np.int64) if rows else np.zeros((0, num_classes), dtype=np.int64)


def skew(counts: np.ndarray) -> dict[str, Any]:
    """Per client KL(D_k || D) (natural log, 0 log 0 = 0) and total variation ½ Σ|D_k - D|, and their plain means.

    D is the distribution of all samples together. A client without samples counts as 0.
    """
    counts = np.asarray(counts, dtype=np.float64)
    everyone = counts.sum(0) / max(1.0, counts.sum())
    sizes = counts.sum(1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.tile(everyone, (len(counts), 1)), where=sizes > 0)
    divergence = kl(shares, everyone)
    variation = 0.5 * np.abs(shares - everyone).sum(1)
    return {
        "mean_kl": float(divergence.mean()) if len(divergence) else 0.0,
        "mean_tv": float(variation.mean()) if len(variation) else 0.0,
        "kl": divergence,
        "tv": variation,
    }
