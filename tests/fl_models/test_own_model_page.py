"""The template of docs/own_model.md works as it is printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from fl_config.seeds import seeded
from fl_models import build, check_model_spec
from fl_models.flat import FlatModel
from fl_models.own import Offered

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "own_model.md").read_text(encoding="utf-8")


def test_the_template_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (template,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    Path("my_net.py").write_text(template)
    check_model_spec("my_net.py:Net")
    flat = FlatModel(build("my_net.py:Net", (3, 32, 32), 10, seed=1))
    losses = []
    with seeded(1, "template"):
        x, y = torch.randn(8, 3, 32, 32).to(memory_format=torch.channels_last), torch.arange(8)
        for _ in range(20):
            flat.zero_grad()
            loss = torch.nn.functional.cross_entropy(flat.model(x), y)
            loss.backward()
            flat.theta.add_(flat.grad, alpha=-0.1)
            losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_the_page_names_every_keyword() -> None:
    assert all(f"`{keyword}`" in PAGE for keyword in Offered._fields)
