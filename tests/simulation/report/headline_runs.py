"""Made-up run folders of versions that have headlines, tables and a described model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fl_runs.reading import RunRecord

CONFUSION = [[43, 54], [1, 82]]
CALIBRATION = [
    {"above": 0.0, "to": 0.5, "count": 0, "confidence": None, "accuracy": None},
    {"above": 0.5, "to": 0.75, "count": 30, "confidence": 0.6, "accuracy": 0.8},
    {"above": 0.75, "to": 1.0, "count": 10, "confidence": 0.9, "accuracy": 0.5},
]
MODEL = {"name": "my_net.py:Net", "parameters": 44426, "layers": ["a: Linear"]}


def scored(
    strategy: str,
    key: str,
    values: list[float],
    *,
    better: str = "more",
    seed: int = 0,
    clients: dict[str, float | None] | None = None,
    **more: Any,
) -> RunRecord:
    """A run whose headline has these values, and these of its clients after the last round."""
    metrics: list[dict[str, Any]] = [{"round": n, f"global/{key}": value} for n, value in enumerate(values)]
    if clients is not None:
        metrics[-1] |= {"personal/client_ids": list(clients), f"personal/client_{key}": list(clients.values())}
    summary = {"finished": True, "headline": {"name": key.replace("_", "-"), "better": better}}
    config = {"strategy": strategy, "seed": seed}
    return RunRecord(Path(f"{strategy}-{seed}"), config, metrics, summary, None, f"{strategy}-{seed}", **more)


def with_headline(folder: Path, name: str = "macro-f1", better: str = "more") -> Path:
    """Turn a made-up run folder into one with this headline, a further metric, tables and a model."""
    key = name.replace("-", "_")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        if "global/accuracy" in line:
            line[f"global/{key}"] = 0.9 * line["global/accuracy"]
        if "personal/client_accuracy" in line:
            line[f"personal/client_{key}"] = [0.9 * value for value in line["personal/client_accuracy"]]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = json.loads((folder / "summary.json").read_text()) | {"headline": {"name": name, "better": better}}
    (folder / "summary.json").write_text(json.dumps(summary))
    confusion = [[40 if row == column else row + column for column in range(10)] for row in range(10)]
    confusion[3] = [5] * 3 + [0] + [5] * 6
    (folder / "tables.json").write_text(json.dumps({"confusion": confusion, "calibration": CALIBRATION}))
    (folder / "model.json").write_text(json.dumps(MODEL))
    return folder
