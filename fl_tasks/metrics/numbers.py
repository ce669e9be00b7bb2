"""Metrics of predicted numbers, in the units of the target; with several targets they are means over the targets.

scikit-learn is imported where it is used, as it takes two seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_tasks.metrics.registry import metric

Array = NDArray[Any]
NUMBERS = ("regression",)


def _pair(outputs: Array, labels: Array) -> tuple[Array, Array]:
    """(labels, predictions), both [n, k] in float64."""
    truth = labels.reshape(len(labels), -1).astype(np.float64)
    return truth, outputs.reshape(truth.shape).astype(np.float64)


@metric("rmse", better="less", tasks=NUMBERS)
def rmse(outputs: Array, labels: Array) -> float:
    """Root of the mean squared error."""
    from sklearn.metrics import root_mean_squared_error

    return float(root_mean_squared_error(*_pair(outputs, labels)))


@metric("mae", better="less", tasks=NUMBERS)
def mae(outputs: Array, labels: Array) -> float:
    """Mean absolute error."""
    from sklearn.metrics import mean_absolute_error

    return float(mean_absolute_error(*_pair(outputs, labels)))


@metric("r2", better="more", tasks=NUMBERS)
def r2(outputs: Array, labels: Array) -> float | None:
    """Share of the target's variance that is explained; None where the target does not vary."""
    from sklearn.metrics import r2_score

    truth, guess = _pair(outputs, labels)
    varies = np.ptp(truth, axis=0) > 0
    return float(r2_score(truth[:, varies], guess[:, varies])) if varies.any() else None
