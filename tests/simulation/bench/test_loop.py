"""The bare loop: whom it trains, and that shares of a cohort are the cohort."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fl_config.options import Options
from fl_data import Dataset, load
from simulation.bench import loop
from simulation.bench.workloads import MILLION

MANY = Options(dataset="digits", partition="drawn:20:0.3", clients=1_000_000, fraction=5e-6, rounds=3, batch_size=10)


def test_only_clients_that_train_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        loop, "plain_model", lambda name: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    )
    monkeypatch.setattr(loop, "load", _with_one_channel)
    cohorts = loop.cohorts_of(MANY)
    assert [len(cohort) for cohort in cohorts] == [5, 5, 5] and max(map(max, cohorts)) > 1000
    trained: list[tuple[int, ...]] = []
    plain = loop.train

    def train(model: Any, x: torch.Tensor, y: torch.Tensor, config: Options) -> None:
        trained.append(tuple(y.tolist()))
        plain(model, x, y, config)

    monkeypatch.setattr(loop, "train", train)
    assert len(list(loop.plain_rounds(MANY))) == 3
    whole = trained[:]
    trained.clear()
    for share in range(2):
        for _ in loop.plain_rounds(MANY, share, 2):
            pass
    assert sorted(trained) == sorted(whole) and len(whole) == 15


def _with_one_channel(name: str) -> Dataset:
    dataset = load(name)
    assert dataset.mean is not None
    return dataset


def test_a_million_clients_have_a_cohort_of_a_hundred() -> None:
    options = {key.replace("-", "_"): value for key, value in MILLION.items()}
    assert len(loop.cohorts_of(Options(**options, rounds=1))[0]) == 100
