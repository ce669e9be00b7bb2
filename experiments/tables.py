"""Strategies against each other on Fashion-MNIST: Disco's weights (tables B1, B2), ASD and FedSSG with many clients (table C).

    python -m experiments.tables biased many

`biased`  five clients with two classes each and one with all ten: does counting the discrepancy help, alone and on FedDyn?
`many`    100 clients, ten of them a round: do self-distillation and gated memories help at equal rounds?
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.measure import arguments, markdown, measured, spread, subset

BIASED: dict[str, Any] = {
    "model": "lenet",
    "partition": "biased:5:1",
    "clients": 6,
    "rounds": 10,
    "epochs": 5,
    "batch-size": 64,
    "lr": 0.01,
    "momentum": 0.9,
    "weight-decay": 1e-5,
}
MANY: dict[str, Any] = {
    "model": "mlp:200,200",
    "dataset": "fashion-mnist",
    "partition": "lda:0.3",
    "clients": 100,
    "fraction": 0.1,
    "rounds": 80,
    "epochs": 2,
    "batch-size": 50,
    "lr": 0.1,
    "lr-decay": 0.998,
    "weight-decay": 1e-3,
    "clip": 10.0,
    "eval-every": 4,
}
PER_CLASS = 300
LAST = 5  # evaluations whose mean is the "late" accuracy


def curves(results: Path, name: str, strategy: str, options: dict[str, Any], seeds: list[int]) -> np.ndarray:
    """Accuracy [seed, evaluation] of the global model; round 0 is left out."""
    rows = []
    for seed in seeds:
        lines = measured(results / f"{name}-seed{seed}", {**options, "strategy": strategy, "seed": seed})
        rows.append([line["global/accuracy"] for line in lines if line["round"] and "global/accuracy" in line])
    return np.array(rows)


def compare(
    results: Path, table: str, setting: dict[str, Any], rivals: dict[str, tuple[str, dict[str, Any]]], seeds: list[int]
) -> str:
    """Rows: name -> (strategy, further options); the first is what the others are compared with, seed by seed."""
    rows = []
    base: np.ndarray | None = None
    for name, (strategy, more) in rivals.items():
        found = curves(results, f"{table}-{name.replace(' ', '-')}", strategy, {**setting, **more}, seeds)
        late = found[:, -LAST:].mean(axis=1)
        base = late if base is None else base
        gains = " ".join(f"{100 * gain:+.1f}" for gain in late - base)
        rows.append(
            [name, spread(found[:, -1]), spread(late), spread(found.max(axis=1)), "" if base is late else gains]
        )
    heads = ["strategy", "last round", f"mean of the last {LAST} evaluations", "best", "gain of that mean, a seed"]
    return markdown(heads, rows)


def main() -> None:
    given = arguments("Tables on Fashion-MNIST.", ["biased", "many"])
    for task in given.tasks:
        if task == "biased":
            setting = {**BIASED, "dataset": subset("fashion-mnist", PER_CLASS, given.results)}
            pairs: list[dict[str, tuple[str, dict[str, Any]]]] = [
                {"fedavg": ("fedavg", {}), "feddisco": ("feddisco", {})},
                {"feddyn": ("feddyn", {}), "feddyn+disco": ("feddyn+disco", {})},
            ]
            for pair in pairs:
                print(compare(given.results, "biased", setting, pair, given.seeds), flush=True)
        else:
            rivals: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in ("fedavg", "asd", "fedssg")}
            print(compare(given.results, "many", MANY, rivals, given.seeds), flush=True)


if __name__ == "__main__":
    main()
