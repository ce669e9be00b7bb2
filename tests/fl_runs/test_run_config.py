"""Flower's run config in pyproject.toml is what is declared in the code."""

from __future__ import annotations

import tomllib
from pathlib import Path

from fl_runs.run_config import block, defaults

ROOT = Path(__file__).resolve().parents[2]


def test_pyproject_holds_exactly_the_declared_defaults() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert block() in text, "run `make run-config`"
    table = tomllib.loads(text)["tool"]["flwr"]["app"]["config"]
    flat = {}
    for key, value in table.items():
        flat.update(
            {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
        )
    assert flat == defaults()
