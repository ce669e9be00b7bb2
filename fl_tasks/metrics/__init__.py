"""Metrics, one file per family; `registry` says what a metric is and which ones a run records."""

from fl_tasks.metrics import correctness, numbers, probabilities  # noqa: F401 (importing them registers the metrics)
from fl_tasks.metrics.registry import (
    LOSS,
    METRICS,
    ChosenMetrics,
    Metric,
    chosen_metrics,
    find_metric,
    fitting,
    metric,
)

__all__ = ["LOSS", "METRICS", "ChosenMetrics", "Metric", "chosen_metrics", "find_metric", "fitting", "metric"]
