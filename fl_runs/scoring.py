"""The server's test of a model: the task's loss, the chosen metrics, and tables of the final model for the report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from flwr.app import ArrayRecord, MetricRecord
from numpy.typing import NDArray

from fl_data import Dataset, Samples
from fl_models.flat import FlatModel, load_buffers, state_to_vector
from fl_protocol.arrays import from_record
from fl_protocol.types import Arrays
from fl_tasks import METRICS, ChosenMetrics, Metric, Task
from fl_tasks.evaluation import evaluate

TABLES = ("confusion", "calibration")  # of the final model, where they fit the task


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """The server computes while its clients rest; clients always use one thread, so that their bits do not depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(os.cpu_count() or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Evaluation:
    """The server's test: the task's loss and the chosen metrics, of any model of the run's architecture."""

    def __init__(
        self,
        model: Any,
        x: NDArray[Any],
        y: NDArray[Any],
        dataset: Dataset,
        device: torch.device,
        task: Task,
        metrics: ChosenMetrics,
    ) -> None:
        self.flat = FlatModel(model.to(device))
        self.samples = Samples(x, y, dataset, device)
        self.task, self.metrics = task, metrics

    def score(self, named: Arrays, metrics: ChosenMetrics | Sequence[Metric]) -> dict[str, Any]:
        self.flat.load(state_to_vector(named, self.flat.names))
        load_buffers(self.flat, {name: value for name, value in named.items() if name not in self.flat.names})
        with all_cores():
            return evaluate(self.flat.model, self.samples, self.task, metrics)

    def __call__(self, round: int, arrays: ArrayRecord) -> MetricRecord:
        score = self.score(from_record(arrays), self.metrics)
        shown = [self.metrics.headline_key, *(key for key in score if key != self.metrics.headline_key)]
        return MetricRecord({key: _number(score[key]) for key in shown if key != "count" and _travels(score[key])})

    def tables(self, named: Arrays) -> dict[str, Any]:
        """What is worth a picture of the final model: for classes the confusion matrix and the calibration."""
        fitting = [METRICS[name] for name in TABLES if METRICS[name].fits(self.task)]
        return {metric.key: value for metric, value in zip(fitting, self._values(named, fitting), strict=True)}

    def _values(self, named: Arrays, metrics: Sequence[Metric]) -> list[Any]:
        score = self.score(named, metrics) if metrics else {}
        return [score[metric.key] for metric in metrics]


def _travels(value: Any) -> bool:
    """Whether Flower's records hold such a value: numbers and lists of numbers; what is not defined travels as NaN."""
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(v, list) for v in value))


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [float("nan") if each is None else float(each) for each in value]
    return float("nan") if value is None else value
