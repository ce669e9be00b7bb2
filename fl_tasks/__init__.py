"""What is learned: the loss, what labels are, how well a model does."""

from fl_tasks.base import CLASSES, LABELS, Task
from fl_tasks.by_name import TASKS, load_task
from fl_tasks.classification import Classification
from fl_tasks.metrics import METRICS, ChosenMetrics, Metric, chosen_metrics, find_metric, metric
from fl_tasks.metrics.probabilities import probabilities
from fl_tasks.multilabel import Multilabel
from fl_tasks.regression import Regression

__all__ = [
    "CLASSES",
    "LABELS",
    "METRICS",
    "TASKS",
    "ChosenMetrics",
    "Classification",
    "Metric",
    "Multilabel",
    "Regression",
    "Task",
    "chosen_metrics",
    "find_metric",
    "load_task",
    "metric",
    "probabilities",
]
