"""A table like a published one, of runs that take a second: digits, four clients, a few rounds."""

from __future__ import annotations

from pathlib import Path

TOY = """
title = "A toy table"
source = "nobody"
seed = 3
tolerance = 100
why = "anything will do."

[setting]
dataset = "digits"
model = "mlp:16"
clients = 4
fraction = 0.5
rounds = ROUNDS
lr = 0.1
score = "server,cohort"

[data.iid]
shown = "digits, IID"
setting = { partition = "iid" }
published = { fedavg = 50.0, fedprox = "above fedavg" }

[data.fast]
shown = "digits, IID, to 30 %"
setting = { partition = "iid" }
measure = "rounds to 30"
tolerance = 1
published = { fedavg = 2 }

[method.fedavg]
shown = "FedAvg"
score = "cohort/accuracy"
setting = { strategy = "fedavg" }

[method.fedprox]
shown = "FedProx, best mu"
score = "cohort/accuracy"
setting = { strategy = "fedprox" }
best-of = [{ prox.mu = 0.01 }, { prox.mu = 1.0 }]
"""


def toy_table(folder: Path, rounds: int = 3, **changes: str) -> Path:
    """The file of the toy table, with texts of it replaced."""
    text = TOY.replace("ROUNDS", str(rounds))
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "toy.toml").write_text(text)
    return folder / "toy.toml"
