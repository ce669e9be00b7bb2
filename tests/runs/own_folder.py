"""A user's folder outside the repository: a model, parts, a metric and a table of his own, and the command that trains with all of them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HOSPITALS = {"city": 120, "north": 90, "south": 60}
NET = """
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes, shape):
        super().__init__()
        self.first = nn.Conv1d(1, 4, 2)
        self.norm = nn.BatchNorm1d(4)
        self.hidden = nn.Linear(4 * (shape[0] - 1), 12)
        self.last = nn.Linear(12, num_classes)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x[:, None])))
        x = F.relu(self.hidden(x.view(-1, self.hidden.in_features)))
        return self.last(F.dropout(x, 0.2, self.training))
"""
PARTS = """
import numpy as np

from fedloom import Objective, Params, Weighting, metric, part


@part("l1prox", slot="objective", what="+ mu |theta - omega|_1")
class L1Prox(Objective):
    class Params(Params):
        mu: float = 0.01

    def correction(self, r):
        r.flat.grad.add_((r.flat.theta - r.anchor).sign(), alpha=self.params.mu)


@part("rootsize", slot="weighting", what="p_i ~ sqrt(n_i)")
class RootSize(Weighting):
    def weights(self, cohort, state, server):
        p = np.sqrt(cohort.sizes)
        return p / p.sum(), state, {"rootsize/largest": float(p.max() / p.sum())}


@metric("share-of-ones", better="more", tasks=("classification",))
def share(outputs, labels):
    return float((outputs.argmax(1) == 1).mean())
"""
FLAGS = (
    "--strategy fedavg+l1prox+rootsize --set l1prox.mu=0.001 --plugin my_parts.py --model my_net.py:Net --dataset csv:wards.csv "
    "--label outcome --partition column:hospital --held-out 0.2 --metrics accuracy,auroc,share-of-ones --headline auroc "
    "--rounds 12 --batch-size 20 --lr 0.1 --device cpu"
).split()


def make_folder(folder: Path) -> Path:
    """Write the user's files."""
    folder.mkdir(exist_ok=True)
    (folder / "my_net.py").write_text(NET)
    (folder / "my_parts.py").write_text(PARTS)
    random = np.random.default_rng(0)
    with open(folder / "wards.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "dose", "sex", "hospital", "outcome"])
        for number, (hospital, patients) in enumerate(HOSPITALS.items()):
            for _ in range(patients):
                age, dose, sex = random.normal(60, 10), random.normal(4.5 + number / 2, 2), random.choice(["f", "m"])
                ill = (age - 60) / 10 + (dose - 5) / 2 + (sex == "m") * 0.5 + random.normal(0, 0.5) > 0
                table.writerow([round(age, 1), round(dose, 2), sex, hospital, "ill" if ill else "well"])
    return folder


def fedloom(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the command in the folder, in a process group of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "fedloom", *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def finished(process: subprocess.Popen[str]) -> str:
    """What the command printed; it must have gone well."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def records(run: Path) -> list[dict[str, Any]]:
    """The whole lines of metrics.jsonl so far, without what a clock says."""
    file = run / "metrics.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in lines]


def bits(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()
