"""How different the clients' labels are: counts, and their distance to the labels of all clients together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def label_counts(labels: np.ndarray, parts: Sequence[np.ndarray], num_classes: int) -> np.ndarray:
    """Samples of each class at each client, [clients, classes]."""
    labels = np.asarray(labels).astype(np.int64)
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
    # D is positive wherever D_k is, so the quotient is taken only where it exists.
    ratio = np.divide(shares, everyone, out=np.ones_like(shares), where=shares > 0)
    kl = np.maximum(0.0, (shares * np.log(ratio)).sum(1))
    tv = 0.5 * np.abs(shares - everyone).sum(1)
    return {
        "mean_kl": float(kl.mean()) if len(kl) else 0.0,
        "mean_tv": float(tv.mean()) if len(tv) else 0.0,
        "kl": kl,
        "tv": tv,
    }
