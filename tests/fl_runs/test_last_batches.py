"""A last minibatch of one sample: which clients have one, and which models cannot train on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_runs.last_batches import ends_alone
from simulation.runner import run

NETS = """
from torch import nn

def flat(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 10))

def maps(): return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
"""


def test_which_clients_end_alone() -> None:
    sizes = np.array([1, 2, 3, 65])
    assert ends_alone(sizes, 0).tolist() == [True, False, False, False]
    assert ends_alone(sizes, 1).tolist() == [True] * 4
    assert ends_alone(sizes, 2).tolist() == [True, False, True, True]
    assert ends_alone(sizes, 32).tolist() == [True, False, False, True]


def given(tmp_path: Path, net: str, batch_size: int) -> dict[str, object]:
    (tmp_path / "nets.py").write_text(NETS)
    return {
        "dataset": "digits", "model": f"{tmp_path / 'nets.py'}:{net}", "partition": "iid", "clients": 4, "rounds": 1,
        "batch-size": batch_size, "engine": "inline", "out": str(tmp_path / "run"),
    }  # fmt: skip


def test_a_client_that_would_always_fail_is_told_before_the_start(tmp_path: Path) -> None:
    """1,442 samples are 361, 361, 360 and 360."""
    with pytest.raises(ConfigError) as told:
        run(given(tmp_path, "flat", 60))
    assert "With --batch-size 60 the last batch of client 0 (361 training samples) has one sample" in str(told.value)
    assert "and so has that of 1 more" in str(told.value) and "choose --batch-size 61," in str(told.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("net", "batch_size"), [("flat", 61), ("maps", 60)])
def test_others_train(tmp_path: Path, net: str, batch_size: int) -> None:
    assert run(given(tmp_path, net, batch_size)).metrics[-1]["dropped"] == []
