"""A task by name, by the file or module that holds it, or as it is."""

from __future__ import annotations

from typing import Any

from fl_config.errors import ConfigError, nearest
from fl_models.loading import Source, resolve, run
from fl_models.spelling import looks_like_code
from fl_tasks.base import Task
from fl_tasks.classification import Classification
from fl_tasks.metrics import LOSS, fitting
from fl_tasks.multilabel import Multilabel
from fl_tasks.regression import Regression

TASKS: dict[str, type[Task]] = {task.name: task for task in (Classification, Regression, Multilabel)}


def load_task(given: Any = "classification", source: Source | None = None) -> Task:
    """The task for a name, `FILE.py:NAME`, `MODULE:NAME`, a subclass of `Task` or an instance; `source` is a text to use instead
    of the disk's."""
    if isinstance(given, str) and given in TASKS:
        return TASKS[given]()
    if isinstance(given, str) and source is None and not looks_like_code(given):
        raise ConfigError(
            f"There is no task {given!r}{nearest(given, TASKS)} The tasks are: {', '.join(TASKS)}; one of your own is "
            "FILE.py:NAME or MODULE:NAME."
        )
    task = resolve(given, source)
    what = given if isinstance(given, str) else repr(given)
    if isinstance(task, type) and issubclass(task, Task):
        task = run(what, task)
    if not isinstance(task, Task):
        raise ConfigError(
            f"The task {what} is {task!r}, but a task is a subclass of fl_tasks.Task or one object of it."
        )
    _check(task, what)
    return task


def _check(task: Task, what: str) -> None:
    if type(task).loss is Task.loss:
        raise ConfigError(f"The task {what} has no loss: define loss(self, outputs, y, reduction='mean').")
    if not task.name:
        raise ConfigError(f"The task {what} has no name: set name = '...' in the class.")
    known = {LOSS, *fitting(task)}
    for metric in (*task.metrics, task.headline):
        if metric not in known:
            raise ConfigError(
                f"The task {what} records {metric!r}, which is no metric of its family {task.family!r}{nearest(metric, known)}"
            )
