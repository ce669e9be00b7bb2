"""Metrics of how sure a model is: ranking (AUROC), log-likelihood, Brier score, calibration.

scikit-learn is imported where it is used, as it takes two seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_tasks.metrics.registry import metric

Array = NDArray[Any]
CLASSES = ("classification",)
BINS = 15  # of equal width, as in Guo et al., ICML 2017


def probabilities(logits: Array) -> Array:
    """softmax(logits) in float64."""
    powers = np.exp(_shifted(logits))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _shifted(logits: Array) -> Array:
    wide = logits.astype(np.float64)
    return np.asarray(wide - wide.max(axis=1, keepdims=True))


@metric("auroc", better="more", tasks=("classification", "multilabel"))
def auroc(outputs: Array, labels: Array) -> float | None:
    """Area under the ROC curve: of class 1 where there are two, otherwise the mean of one class against the rest.

    The mean is over the classes (or labels, in multilabel) that are present and not everywhere; None if there is none.
    """
    from sklearn.metrics import roc_auc_score

    if labels.ndim == 1 and outputs.shape[1] == 2:
        # Differences of logits rank as probabilities do, but do not become equal at 0 and 1.
        truths, scores = [labels == 1], [outputs[:, 1].astype(np.float64) - outputs[:, 0]]
    elif labels.ndim == 1:
        shares = probabilities(outputs)
        truths, scores = [labels == c for c in range(outputs.shape[1])], list(shares.T)
    else:
        truths, scores = [column > 0.5 for column in labels.T], list(outputs.T)
    areas = [roc_auc_score(t, s) for t, s in zip(truths, scores, strict=True) if t.any() and not t.all()]
    return float(np.mean(areas)) if areas else None


@metric("nll", better="less", tasks=CLASSES)
def nll(outputs: Array, labels: Array) -> float:
    """Mean of -log p(class of the sample)."""
    # Not scikit-learn's log_loss, which cuts probabilities off at 2e-16.
    shifted = _shifted(outputs)
    of_label = shifted[np.arange(len(labels)), labels]
    return float((np.log(np.exp(shifted).sum(axis=1)) - of_label).mean())


@metric("brier", better="less", tasks=CLASSES)
def brier(outputs: Array, labels: Array) -> float:
    """Mean squared distance of the probabilities from the label: 0 to 2, or 0 to 1 with two classes, as in scikit-learn."""
    away = probabilities(outputs)
    away[np.arange(len(labels)), labels] -= 1
    score = float(np.square(away).sum(axis=1).mean())
    return score / 2 if outputs.shape[1] == 2 else score


def _bins(outputs: Array, labels: Array) -> tuple[Array, Array, Array]:
    """(samples, mean confidence, accuracy) per bin of confidence, which is the largest probability; 0 where a bin is empty."""
    shares = probabilities(outputs)
    confidence = shares.max(axis=1)
    right = outputs.argmax(axis=1) == labels
    place = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    filled = np.maximum(count, 1)
    return (
        count,
        np.bincount(place, weights=confidence, minlength=BINS) / filled,
        np.bincount(place, weights=right, minlength=BINS) / filled,
    )


@metric("ece", better="less", tasks=CLASSES)
def ece(outputs: Array, labels: Array) -> float:
    """Expected calibration error: mean |accuracy - confidence| over 15 bins of confidence of equal width, by their samples."""
    count, confidence, accuracy = _bins(outputs, labels)
    return float((count * np.abs(accuracy - confidence)).sum() / len(labels))


@metric("calibration", better=None, tasks=CLASSES)
def calibration(outputs: Array, labels: Array) -> list[dict[str, float | int | None]]:
    """One row per bin of confidence: its bounds, its samples, their mean confidence and accuracy (None in an empty bin)."""
    return [
        {
            "above": bin / BINS,
            "to": (bin + 1) / BINS,
            "count": int(count),
            "confidence": float(confidence) if count else None,
            "accuracy": float(accuracy) if count else None,
        }
        for bin, (count, confidence, accuracy) in enumerate(zip(*_bins(outputs, labels), strict=True))
    ]
