"""Each kind of case really runs, round by round in a process of its own, and leaves nothing behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_config.seeds import rng
from simulation.bench.case_process import Case, SideBySide
from simulation.bench.process_memory import alive, family
from simulation.bench.workloads import IMAGES, peer_is_there

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Any]:
    """Options of a workload that takes milliseconds."""
    random = rng(0, "bench test")
    x, y = random.integers(0, 256, (60, 28, 28), dtype=np.uint8), np.arange(60) % 10
    np.savez(tmp_path / "images.npz", x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
    own = {"dataset": f"npz:{tmp_path / 'images.npz'}", "clients": 4, "fraction": 0.5, "model": "mlp:200,200"}
    return {**IMAGES, **own, "batch-size": 5}


@pytest.mark.parametrize("how", ["ideal", "ray", *(["pfl"] if peer_is_there() else [])])
def test_a_case_runs_round_by_round_in_a_process_of_its_own(how: str, tiny: dict[str, Any]) -> None:
    case = Case(how, tiny, rounds=2, workers=1)
    try:
        started = family(case.process.pid)
        case.round()
        time.sleep(0.5)  # it waits, and this does not count
        case.round()
        case.look()
    finally:
        case.close()
    assert len(case.seconds) == 2
    assert all(0 < seconds < case.first_round for seconds in case.seconds)
    assert case.peak_mb > 50
    assert case.process.returncode is not None
    assert len(started) > 1 or how != "ray"
    assert not [pid for pid in started if alive(pid)]


def test_loops_side_by_side_do_their_shares_together(tiny: dict[str, Any]) -> None:
    together = SideBySide(tiny, rounds=2, workers=2)
    try:
        together.look()
        for _ in range(2):
            together.round()
        processes = [loop.process for loop in together.loops]
        assert len({process.pid for process in processes}) == 2 and all(alive(process.pid) for process in processes)
    finally:
        together.close()
    assert len(together.seconds) == 2 and together.median > 0
    assert not any(alive(process.pid) for process in processes)


def test_one_loop_that_fails_ends_all(tiny: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="no-such-file"):
        SideBySide({**tiny, "dataset": "npz:no-such-file.npz"}, rounds=1, workers=2)


def test_a_case_that_fails_says_why(tiny: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match=r"ended after 0 rounds:[\s\S]*no-such-file"):
        Case("ideal", {**tiny, "dataset": "npz:no-such-file.npz"}, rounds=1, workers=1)


def test_a_file_of_the_current_folder_is_not_taken_for_the_bench(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "simulation.py").write_text("raise ImportError('simulation.py of the current folder was imported')\n")
    monkeypatch.chdir(tmp_path)
    Case("ideal", tiny, rounds=1, workers=1).close()
