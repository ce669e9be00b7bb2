"""The checksum of a run's data: the same for the same data, another for other data or another division, a complaint for none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_config.options import as_flat, options
from simulation.engines.cluster.node_data import checksum, checksum_or_complaint


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that are asked belong to a simulation, and say so to their own processes."""
    monkeypatch.setenv("FEDLOOM_SIMULATION", "1")


def config_of(file: Path, value: float, **more: Any) -> dict[str, Any]:
    x, y = np.full((12, 3), value, dtype=np.float32), np.arange(12) % 2
    np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)
    return as_flat(options({"dataset": f"npz:{file}", "clients": 3, **more}))


def test_equal_data_have_equal_checksums_wherever_they_lie(tmp_path: Path) -> None:
    here = checksum(config_of(tmp_path / "here.npz", 1.0))
    assert here == checksum(config_of(tmp_path / "there.npz", 1.0))
    assert here != checksum(config_of(tmp_path / "other.npz", 2.0))
    assert here != checksum(config_of(tmp_path / "fewer.npz", 1.0, clients=2))


def test_data_that_are_not_there_are_a_complaint(tmp_path: Path) -> None:
    config = config_of(tmp_path / "gone.npz", 1.0)
    assert checksum_or_complaint(config) == (checksum(config), "")
    (tmp_path / "gone.npz").unlink()
    found, complaint = checksum_or_complaint(config)
    assert not found
    assert "gone.npz" in complaint
    assert "names no file that exists" in complaint
