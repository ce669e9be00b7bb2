"""Metrics by name: what each is a function of, which tasks it fits, whether more is better. Ours and the users' alike:

    @metric("within-ten", better="more", tasks=("regression",), what="share of predictions at most 10 away")
    def within_ten(outputs, labels):
        return float((abs(outputs[:, 0] - labels) <= 10).mean())

`outputs` are the model's as NumPy floats [n, outputs] (logits, not probabilities: see `probabilities`), `labels` the task's
labels [n] or [n, k]. A figure that is not defined for a set, such as AUROC where only one class is present, is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError, nearest
from fl_models.loading import PRIVATE
from fl_tasks.base import Task

LOSS = "loss"  # the task's own, recorded always: not a metric, but a headline may be
Better = Literal["more", "less"]
Compute = Callable[[NDArray[Any], NDArray[Any]], Any]


@dataclass(frozen=True)
class Metric:
    """One metric. `better` is None for a list or a table, which cannot be a headline; no `tasks` means all of them.

    `by_prediction`: only the predicted classes count, so that it is defined also for outputs that are not finite.
    """

    name: str
    compute: Compute
    better: Better | None
    tasks: tuple[str, ...]
    what: str = ""
    by_prediction: bool = False

    @property
    def key(self) -> str:
        """The name in records, such as class_accuracy."""
        return self.name.replace("-", "_")

    def fits(self, task: Task) -> bool:
        return not self.tasks or task.family in self.tasks or task.name in self.tasks

    def __call__(self, outputs: NDArray[Any], labels: NDArray[Any]) -> Any:
        """The figure as JSON holds it; None where it is not defined."""
        if not len(labels) or not (self.by_prediction or np.isfinite(outputs).all()):
            return None
        try:
            return _plain(self.compute(outputs, labels))
        except Exception as error:
            raise ConfigError(f"The metric {self.name!r} failed: {type(error).__name__}: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


METRICS: dict[str, Metric] = {}


def metric(
    name: str,
    *,
    better: Better | None,
    tasks: Sequence[str] = (),
    what: str = "",
    by_prediction: bool = False,
) -> Callable[[Compute], Compute]:
    """Register the decorated function `(outputs, labels) -> float` under `name`."""
    if better not in ("more", "less", None):
        raise ConfigError(
            f"The metric {name!r} says better={better!r}, but it is 'more', 'less' or None (a list or table)."
        )
    if not name or name == LOSS or any(letter in name for letter in ", \t\n"):
        raise ConfigError(f"A metric cannot be called {name!r}: choose one word, and not {LOSS!r}.")

    def register(compute: Compute) -> Compute:
        known = METRICS.get(name)
        if known is not None and _origin(known.compute) != _origin(compute):
            raise ConfigError(f"There is a metric {name!r} already: give yours another name.")
        text = what or (compute.__doc__ or "").strip().partition("\n")[0]
        METRICS[name] = Metric(name, compute, better, tuple(tasks), text, by_prediction)
        return compute

    return register


def _origin(compute: Compute) -> tuple[str, str]:
    """Where a function is from; a file of the user's may be loaded twice, also with another text, which is no clash."""
    module = compute.__module__
    return module.rpartition("_")[0] if module.startswith(PRIVATE) else module, compute.__qualname__


def fitting(task: Task) -> list[str]:
    """The names of the metrics that a task can compute."""
    return [name for name, each in METRICS.items() if each.fits(task)]


def find_metric(name: str, task: Task) -> Metric:
    if name not in METRICS:
        offered = fitting(task)
        raise ConfigError(
            f"There is no metric {name!r}{nearest(name, [*offered, LOSS])} The metrics of {task.name} are: {', '.join(offered)}."
        )
    found = METRICS[name]
    if not found.fits(task):
        raise ConfigError(
            f"The metric {name!r} is for {' and '.join(found.tasks)}, but the task is {task.name}, whose metrics are: "
            f"{', '.join(fitting(task))}."
        )
    return found


@dataclass(frozen=True)
class ChosenMetrics:
    """What a run records beside the loss, and what it goes by."""

    names: tuple[str, ...]
    headline: str
    better: Better

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(METRICS[name] for name in self.names)

    @property
    def headline_key(self) -> str:
        return self.headline.replace("-", "_")

    def improves(self, value: float | None, best: float | None) -> bool:
        """Whether `value` is better than the best so far; a figure that is not defined never is."""
        if value is None or not math.isfinite(value):
            return False
        if best is None or not math.isfinite(best):
            return True
        return value > best if self.better == "more" else value < best


def chosen_metrics(task: Task, text: str = "", headline: str = "") -> ChosenMetrics:
    """What `--metrics a,b` and `--headline m` mean for a task; empty is the task's own choice.

    The headline is the task's if it is among the metrics, otherwise the first of them that is a single number. It is recorded
    even if `--metrics` does not name it.
    """
    asked: Iterable[str] = [name.strip() for name in text.split(",")] if text.strip() else task.metrics
    found = [find_metric(name, task) for name in dict.fromkeys(asked) if name != LOSS]
    if not headline:
        numbers = [each.name for each in found if each.better is not None]
        headline = task.headline if task.headline in (*numbers, LOSS) or not numbers else numbers[0]
    if headline == LOSS:
        return ChosenMetrics(tuple(each.name for each in found), LOSS, "less")
    chief = find_metric(headline, task)
    if chief.better is None:
        raise ConfigError(
            f"The metric {headline!r} is a list or a table, which cannot be the headline: choose one number."
        )
    return ChosenMetrics(tuple(dict.fromkeys([*(each.name for each in found), headline])), headline, chief.better)
