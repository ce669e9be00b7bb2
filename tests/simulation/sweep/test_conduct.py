"""A whole sweep: how many runs at once, what it is called, and that side by side gives the bits of one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fl_config.options import options
from simulation import run
from simulation.sweep import conduct as conducting
from simulation.sweep.conduct import conduct, default_folder, room_for
from simulation.sweep.screen import Screen
from tests.fl_runs.tracking.test_tensorboard import read_back

SMALL: dict[str, Any] = {"dataset": "digits", "model": "mlp:8", "clients": 3, "rounds": 2, "engine": "inline"}


def test_side_by_side_gives_the_bits_of_single_runs_and_each_is_tracked(tmp_path: Path) -> None:
    values = {**SMALL, "out": str(tmp_path / "s"), "track": f"tensorboard:{tmp_path / 'boards'}"}
    made = conduct(values, ["fedavg", "feddisco"], {"disco.a": [0.2]}, 1, side_by_side=2, screen=Screen())
    assert [folder.name for folder in made.finished] == ["fedavg-seed0", "feddisco-disco.a=0.2-seed0"]
    alone = run({**SMALL, "strategy": "feddisco", "disco.a": 0.2, "out": str(tmp_path / "alone")})
    bits = [(folder / "model.safetensors").read_bytes() for folder in (alone.folder, made.finished[1])]
    assert bits[0] == bits[1]
    for folder in made.finished:
        events = read_back(tmp_path / "boards" / folder.name)
        assert [one.step for one in events.Scalars("global/accuracy")] == [0, 1, 2]


def test_as_many_runs_at_once_as_the_cores_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting, "cores", lambda: 8)
    rooms = {
        "inline": {"engine": "inline"},
        "all cores": {},
        "three workers": {"workers": 3},
        "more workers than cores": {"workers": 20},
        "flower": {"engine": "flower", "workers": 4},
        "gpus": {"workers": 1, "gpus-per-client": 0.5},
        "a cluster": {"workers": 1, "ray-address": "auto"},
    }
    found = {name: room_for(options(values)) for name, values in rooms.items()}
    assert list(found.values()) == [8, 1, 2, 1, 2, 1, 1]


def test_a_sweep_without_a_name_is_called_after_what_it_is() -> None:
    one, same, other = ({"seeds": 3, "grid": {}}, {"grid": {}, "seeds": 3}, {"seeds": 2, "grid": {}})
    assert default_folder(one) == default_folder(same) != default_folder(other)
    assert json.dumps(str(default_folder(one))).startswith('"runs/sweep-')
