"""Run folders and records as a run would leave them, made up from a seed: the ground of the report's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from fl_config.seeds import rng
from fl_runs.reading import RunRecord

CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
MODEL_BYTES = 180_000
GAIN = {"fedavg": 0.80, "feddisco": 0.83, "feddyn+disco": 0.86, "scaffold": 0.84, "fedssa": 0.85}

MakeRun = Callable[..., Path]  # the fixture make_run


def write_run(
    folder: Path,
    *,
    strategy: str = "fedavg",
    seed: int = 0,
    rounds: int = 30,
    clients: int = 20,
    cohort: int = 5,
    eval_every: int = 1,
    finished: bool = True,
    dropped: bool = False,
    partition: bool = True,
    extra: bool = False,
    **options: Any,
) -> Path:
    """Write one run folder in the formats that a run writes."""
    folder.mkdir(parents=True)
    random = rng(seed, "fake run", strategy)
    counts = np.round(rng(seed, "fake split").dirichlet([0.3] * clients, len(CLASSES)).T * 6000).astype(int)
    config = {"strategy": strategy, "dataset": "fashion-mnist", "partition": "dirichlet:0.3", "model": "lenet"}
    config |= {"clients": clients, "fraction": cohort / clients, "rounds": rounds, "epochs": 1, "batch-size": 50}
    config |= {"lr": 0.05, "momentum": 0.9, "seed": seed, "eval-every": eval_every, "out": str(folder), "engine": "ray"}
    (folder / "config.toml").write_text(tomli_w.dumps(config | options | {"set": {"disco.a": 0.5, "disco.b": 0.1}}))
    made_of: dict[str, Any] = {"strategy": strategy, "random": random, "counts": counts, "cohort": cohort}
    made_of |= {"eval_every": eval_every, "dropped": dropped, "extra": extra}
    lines = [_line(number, **made_of) for number in range(rounds + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if finished:
        evaluated = [line for line in lines if "global/accuracy" in line]
        summary = {"strategy": strategy, "recipe": strategy, "seed": seed, "rounds": rounds, "finished": True}
        summary |= {"final": evaluated[-1]["global/accuracy"] if evaluated else None, "best": None}
        summary |= {"seconds": 1.7 * rounds, "versions": {"python": "3.11.7", "flwr": "1.39.0", "torch": "2.13.0"}}
        (folder / "summary.json").write_text(json.dumps(summary))
    if partition:
        split = {"class_names": CLASSES, "client_ids": list(range(clients)), "counts": counts.tolist()}
        (folder / "partition.json").write_text(json.dumps(split | {"target_counts": [1000] * len(CLASSES)}))
    return folder


def _line(
    number: int,
    *,
    strategy: str,
    random: np.random.Generator,
    counts: np.ndarray,
    cohort: int,
    eval_every: int,
    dropped: bool,
    extra: bool,
) -> dict[str, Any]:
    line: dict[str, Any] = {"round": number}
    progress = 1 - np.exp(-number / 12)
    top = GAIN.get(strategy, 0.8)
    if eval_every and number % eval_every == 0:
        hardness = np.array([0.9, 1.1, 0.8, 1, 0.85, 1.1, 0.6, 1.08, 1.12, 1.1])
        by_class = np.clip((0.1 + (top - 0.1) * progress) * hardness + random.normal(0, 0.03, 10), 0, 1)
        line["global/accuracy"] = float(by_class.mean())
        line["global/loss"] = float(2.3 - 1.8 * progress + abs(random.normal(0, 0.03)))
        line["global/class_accuracy"] = by_class.tolist()
    if extra:
        skewed = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
        clusters = np.where(skewed > np.median(skewed), 2, 1).tolist()
        ids = list(range(len(counts)))
        own = np.clip(0.3 + 0.5 * progress + 0.2 * skewed, 0, 1)
        line |= {"personal/client_ids": ids, "personal/client_accuracy": own.tolist()}
        line |= {"personal/client_before": (0.8 * own).tolist(), "personal/client_cluster": clusters}
        if number == 0:
            line |= {"cuau/client_ids": ids, "cuau/scores": skewed.tolist(), "cuau/clusters": clusters}
    if number == 0:
        return line
    members = sorted(random.choice(len(counts), cohort, replace=False).tolist())
    weights = random.dirichlet(np.maximum(counts[members].sum(axis=1), 1) / 400)
    line |= {"train/loss": float(2.2 - 1.9 * progress + random.normal(0, 0.04)), "dropped": []}
    line |= {"cohort": members, "weights": weights.tolist()}
    line |= {"bytes_up": cohort * MODEL_BYTES, "bytes_down": cohort * MODEL_BYTES + 900}
    phases = {"sample": 0.01, "send": 0.05, "train": 1.2, "aggregate": 0.08, "evaluate": 0.3, "checkpoint": 0.04}
    line["seconds"] = {phase: mean * float(random.uniform(0.8, 1.3)) for phase, mean in phases.items()}
    if dropped and number % 7 == 3:
        reason = "The update has 12 values that are not finite." if number % 2 else "No reply within 60 seconds."
        line["dropped"] = [{"id": int(random.integers(len(counts))), "reason": reason}]
    if extra:
        line |= {"ssa/loss_cos": float(-0.6 - 0.3 * progress + random.normal(0, 0.01))}
        line |= {"disco/effective_clients": float(1 / np.sum(weights**2)), "cuau/cluster_sizes": [3, 2]}
    return line


def record(strategy: str, seed: int, accuracy: dict[int, float], **config: object) -> RunRecord:
    metrics = [{"round": number, "global/accuracy": value} for number, value in accuracy.items()]
    options = {"strategy": strategy, "seed": seed, **config}
    return RunRecord(Path(f"{strategy}-{seed}"), options, metrics, {"finished": True}, None, strategy)
