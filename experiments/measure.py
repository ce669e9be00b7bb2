"""What the measuring scripts share: runs that are done once and read afterwards, subsets of data, Markdown tables.

A run is the folder that `fedloom run` writes; one that was interrupted goes on from its checkpoint, a finished one is read.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fl_data import load
from fl_strategies.round.records import Record
from simulation import run


def arguments(description: str, tasks: Sequence[str], splits: Sequence[str] = ()) -> argparse.Namespace:
    """The command line of a measuring script: what to do, where raw results are, which seeds, which split."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tasks", nargs="+", choices=tasks, metavar="TASK", help=f"what to do: {', '.join(tasks)}")
    parser.add_argument("--results", type=Path, default=Path("runs/experiments"), help="folder of the raw results")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default: 0 1 2)")
    if splits:
        parser.add_argument("--split", choices=splits, default=splits[0], help=f"(default: {splits[0]})")
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    return given


def finished(folder: Path) -> bool:
    summary = folder / "summary.json"
    return summary.exists() and bool(json.loads(summary.read_text())["finished"])


def records(folder: Path) -> list[Record]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def measured(folder: Path, options: Mapping[str, Any]) -> list[Record]:
    """The records of a run: read where it is finished, continued where it was stopped, else run in this process."""
    if not finished(folder):
        began = time.time()
        started = (folder / "config.toml").exists()
        run(
            {"resume": str(folder), "engine": "inline"}
            if started
            else {**options, "engine": "inline", "out": str(folder)}
        )
        print(f"{folder.name}: {time.time() - began:.0f} s", flush=True)
    return records(folder)


def subset(dataset: str, per_class: int, folder: Path) -> str:
    """The first `per_class` training samples of each class, with the whole test set, as an npz data set."""
    path = folder / f"{dataset}-{per_class}.npz"
    if not path.exists():
        data = load(dataset)
        labels = np.asarray(data.y_train)
        kept = np.sort(np.concatenate([np.flatnonzero(labels == c)[:per_class] for c in range(data.num_classes)]))
        np.savez(path, x_train=data.x_train[kept], y_train=labels[kept], x_test=data.x_test, y_test=data.y_test)
    return f"npz:{path}"


def spread(values: Iterable[float]) -> str:
    """Mean and standard deviation over seeds, in percent."""
    percent = 100 * np.asarray(list(values))
    deviation = f" ± {percent.std(ddof=1):.1f}" if len(percent) > 1 else ""
    return f"{percent.mean():.1f}{deviation}"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
