"""Metrics of what is predicted: the class with the largest logit, or the labels whose logits are above 0 (multilabel).

scikit-learn is imported where it is used, as it takes two seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_tasks.metrics.registry import metric

Array = NDArray[Any]
CLASSES = ("classification",)
BOTH = ("classification", "multilabel")


def predicted(outputs: Array, labels: Array) -> Array:
    """Classes [n], or zeros and ones [n, k] where the labels are rows."""
    return outputs.argmax(axis=1) if labels.ndim == 1 else (outputs > 0).astype(np.int64)


@metric("accuracy", better="more", tasks=CLASSES, by_prediction=True)
def accuracy(outputs: Array, labels: Array) -> float:
    """Share of samples whose class is predicted."""
    return int((predicted(outputs, labels) == labels).sum()) / len(labels)


@metric("class-accuracy", better=None, tasks=CLASSES, by_prediction=True)
def class_accuracy(outputs: Array, labels: Array) -> list[float | None]:
    """Accuracy per class; None for a class without samples."""
    classes = outputs.shape[1]
    seen = np.bincount(labels, minlength=classes)
    right = np.bincount(labels[predicted(outputs, labels) == labels], minlength=classes)
    # In float32, as the records of classification have always been.
    return [float(np.float32(r) / np.float32(s)) if s else None for r, s in zip(right, seen, strict=True)]


@metric("balanced-accuracy", better="more", tasks=CLASSES, by_prediction=True)
def balanced_accuracy(outputs: Array, labels: Array) -> float:
    """Mean of the accuracies of the classes that are present."""
    from sklearn.metrics import recall_score

    # As balanced_accuracy_score, which warns of predicted classes that are not present.
    return float(
        recall_score(labels, predicted(outputs, labels), labels=np.unique(labels), average="macro", zero_division=0)
    )


@metric("macro-f1", better="more", tasks=BOTH, by_prediction=True)
def macro_f1(outputs: Array, labels: Array) -> float:
    """Mean F1 of the classes that are present or predicted (classification), or of all labels (multilabel)."""
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted(outputs, labels), average="macro", zero_division=0))


@metric("micro-f1", better="more", tasks=BOTH, by_prediction=True)
def micro_f1(outputs: Array, labels: Array) -> float:
    """F1 of all decisions together; for classification it is the accuracy."""
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted(outputs, labels), average="micro", zero_division=0))


@metric("subset-accuracy", better="more", tasks=("multilabel",), by_prediction=True)
def subset_accuracy(outputs: Array, labels: Array) -> float:
    """Share of samples all of whose labels are predicted right."""
    return int((predicted(outputs, labels) == labels).all(axis=1).sum()) / len(labels)


@metric("confusion", better=None, tasks=CLASSES, by_prediction=True)
def confusion(outputs: Array, labels: Array) -> list[list[int]]:
    """Number of samples by class (rows) and predicted class (columns)."""
    classes = outputs.shape[1]
    cells = np.bincount(labels * classes + predicted(outputs, labels), minlength=classes * classes)
    table: list[list[int]] = cells.reshape(classes, classes).tolist()
    return table
