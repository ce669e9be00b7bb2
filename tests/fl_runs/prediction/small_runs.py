"""A run of two rounds on the digits, in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fedloom

OPTIONS: dict[str, Any] = {
    "dataset": "digits",
    "partition": "shards:3",
    "clients": 4,
    "rounds": 2,
    "model": "mlp:16",
    "lr": 0.2,
    "engine": "inline",
    "device": "cpu",
    "progress": False,
}


def small_run(folder: Path, **options: Any) -> fedloom.Run:
    return fedloom.run(**{**OPTIONS, **options, "out": str(folder)})


def last(run: fedloom.Run, key: str) -> Any:
    """The figure of the last record."""
    return run.metrics[-1][key]
