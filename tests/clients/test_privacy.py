"""Clipping and noise by flag: how far a reply may be from what was sent, how much noise it has, and who may not use it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fl_config.errors import ConfigError
from fl_runs.plan import make_plan
from simulation import run

RUN = {
    "dataset": "digits",
    "model": "linear",
    "clients": 2,
    "partition": "iid",
    "rounds": 1,
    "lr": 0.5,
    "engine": "inline",
    "device": "cpu",
}


def moved(tmp_path: Path, name: str, **more: float | str) -> np.ndarray:
    """The global update of one round, from a model of zeros."""
    zeros = tmp_path / "zeros.safetensors"
    if not zeros.exists():
        first = run({**RUN, "out": str(tmp_path / "first")}).model
        save_file({key: np.zeros_like(value) for key, value in first.items()}, zeros)
    made = run({**RUN, "init": str(zeros), "out": str(tmp_path / name), **more})
    return np.concatenate([value.reshape(-1) for value in load_file(made.folder / "model.safetensors").values()])


def test_updates_are_clipped_and_noised(tmp_path: Path) -> None:
    plain = moved(tmp_path, "plain")
    assert np.linalg.norm(plain) > 0.5
    clipped = moved(tmp_path, "clipped", **{"dp-clip": 0.1, "dp-epsilon": 1e9})
    assert np.linalg.norm(clipped) <= 0.1 + 1e-5
    assert clipped @ plain / np.linalg.norm(clipped) / np.linalg.norm(plain) > 0.95
    noisy = moved(tmp_path, "noisy", **{"dp-clip": 0.1, "dp-epsilon": 2.0, "dp-delta": 1e-5})
    one_reply = 2 * 0.1 * np.sqrt(2 * np.log(1.25 / 1e-5)) / 2.0
    assert np.std(noisy - clipped) == pytest.approx(one_reply / np.sqrt(2), rel=0.15)  # the mean of two clients
    again = moved(tmp_path, "again", **{"dp-clip": 0.1, "dp-epsilon": 2.0})
    assert not np.array_equal(noisy, again), "noise that follows from the seed protects nobody"


@pytest.mark.parametrize(
    "strategy", ["scaffold", "feddyn+disco", "fedssg", "fedper", "fedcuau", "afl", "fedssa-shares"]
)
def test_recipes_that_send_more_are_refused(strategy: str) -> None:
    with pytest.raises(ConfigError, match="--dp-clip covers one model"):
        make_plan({**RUN, "strategy": strategy, "dp-clip": 1.0})


def test_batch_counters_and_wrong_values_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="batch normalisation"):
        run({**RUN, "model": "resnet20:bn", "dp-clip": 1.0, "out": str(tmp_path / "a")})
    for wrong in ({"dp-clip": -1}, {"dp-epsilon": 0}, {"dp-delta": 1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            make_plan({**RUN, **wrong})
    make_plan({**RUN, "strategy": "feddisco", "dp-clip": 1.0})
