"""docs/tasks.md: its template works as it is printed, and its table names every metric with its tasks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fl_tasks import METRICS, TASKS, chosen_metrics, load_task
from fl_tasks.metrics import registry

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")


def test_the_template_is_a_task_and_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(registry, "METRICS", dict(METRICS))
    (template,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    Path("my_task.py").write_text(template)
    task = load_task("my_task.py:Huber")
    assert chosen_metrics(task).headline == "mae"
    chosen = chosen_metrics(task, headline="within-ten")
    assert chosen.names == ("mae", "rmse", "within-ten") and chosen.better == "more"
    outputs, y = torch.tensor([[0.0], [30.0]]), torch.tensor([4.0, 0.0])
    assert task.loss(outputs, y, reduction="sum").item() == 8.0 + 10 * (30 - 5)
    assert [metric(outputs.numpy(), y.numpy()) for metric in chosen.metrics] == [17.0, pytest.approx(np.sqrt(458)), 0.5]


def test_the_table_of_metrics_is_complete() -> None:
    rows = dict(re.findall(r"^\| (`[^|]*`) \| ([^|]*) \| (?:more|less|-) \|", PAGE, re.MULTILINE))
    told = {name: tasks.split(", ") for names, tasks in rows.items() for name in re.findall(r"`([^`]*)`", names)}
    assert told == {name: list(each.tasks) for name, each in METRICS.items()}
    for name, task in TASKS.items():
        assert re.search(rf"^\| `{name}`.*" + ".*".join(f"`{metric}`" for metric in task.metrics), PAGE, re.MULTILINE)
