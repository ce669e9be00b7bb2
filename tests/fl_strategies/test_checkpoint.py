"""A checkpoint holds everything, to the bit, and is never half a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import FILE, load_checkpoint, save_checkpoint
from fl_strategies.round.state import RunState


def state() -> RunState:
    return RunState(
        round=3,
        omega=np.array([1.5, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32),
        buffers={"body.norm.num_batches_tracked": np.array(7), "mean": np.zeros((2, 1), dtype=np.float32)},
        parts={
            "ssg": {"H": np.array([0.1, 0.2]), "counted": np.frombuffer(b"[1]", dtype=np.uint8)},
            "average": {},
            "afl": {"lambda": np.array([0.25, 0.75])},
        },
        acked={0: 3, 11: 1, "site-a": 2},
        customised=np.array([4, 5], dtype=np.float32),
    )


def test_round_trip(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, state())
    read, kept = load_checkpoint(tmp_path), state()
    assert (read.round, read.acked) == (kept.round, kept.acked)
    assert list(read.parts) == list(kept.parts)
    for ours, theirs in (
        (read.buffers, kept.buffers),
        (read.parts["afl"], kept.parts["afl"]),
        (read.parts["ssg"], kept.parts["ssg"]),
        (read.parts["average"], {}),
    ):
        assert ours.keys() == theirs.keys()
        assert all(ours[k].tobytes() == theirs[k].tobytes() and ours[k].dtype == theirs[k].dtype for k in ours)
    assert read.omega.tobytes() == kept.omega.tobytes()
    assert read.customised is not None
    assert np.array_equal(read.customised, [4, 5])


def test_a_failed_write_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, state())
    newer = state()
    newer.round = 4

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        save_checkpoint(tmp_path, newer)
    assert load_checkpoint(tmp_path).round == 3


def test_what_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no checkpoint"):
        load_checkpoint(tmp_path)
    save_checkpoint(tmp_path, state())
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:40])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(tmp_path)
