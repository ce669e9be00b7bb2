"""A checkpoint holds everything, to the bit, and is never half a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from fl_config.errors import ConfigError
from fl_strategies.checkpoint import FILE, load_checkpoint, save_checkpoint
from fl_strategies.population.tally import Tally
from fl_strategies.round.state import RunState


def state() -> RunState:
    return RunState(
        round=3,
        omega=np.array([1.5, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32),
        buffers={"body.norm.num_batches_tracked": np.array(7), "mean": np.zeros((2, 1), dtype=np.float32)},
        parts={
            "ssg": {
                "H": np.array([0.1, 0.2]),
                "counted": np.frombuffer(b"[1]", dtype=np.uint8),
                **Tally({7: 2}).write("counts"),
            },
            "average": {},
            "afl": {"lambda": np.array([0.25, 0.75])},
        },
        acked=Tally({0: 3, 11: 1, "site-a": 2}),
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


def test_format_2_is_read_with_its_acknowledgements_and_counts(tmp_path: Path) -> None:
    arrays = {
        "omega": np.array([1.0, 2.0], dtype=np.float32),
        "part/ssg/H": np.array([0.5, 0.25]),
        "part/ssg/counted": np.frombuffer(b'[12, "site-a", 3]', dtype=np.uint8),
        "part/ssg/counts": np.array([4, 2, 1], dtype=np.int64),
    }
    header = {
        "format": "2",
        "round": "9",
        "key": "00ff00ff00ff00ff",
        "acked": '[[12, 9], ["site-a", 7], [3, 1]]',
        "parts": '["average", "ssg"]',
    }
    (tmp_path / FILE).write_bytes(save(arrays, metadata=header))
    read = load_checkpoint(tmp_path)
    assert (read.round, read.key, list(read.parts)) == (9, "00ff00ff00ff00ff", ["average", "ssg"])
    assert read.acked == {3: 1, 12: 9, "site-a": 7}
    assert Tally.read(read.of("ssg"), "counts") == {3: 1, 12: 4, "site-a": 2}
    assert read.of("ssg").keys() == {"H", *Tally().write("counts")}
    save_checkpoint(tmp_path, read)
    assert load_checkpoint(tmp_path).acked == read.acked


def test_a_checkpoint_grows_with_who_trained_and_not_with_the_numbers_of_the_clients(tmp_path: Path) -> None:
    few, far = state(), state()
    few.acked, far.acked = (Tally(dict.fromkeys(range(first, first + 100), 1)) for first in (0, 10**9))
    sizes = []
    for one in (few, far):
        save_checkpoint(tmp_path, one)
        sizes.append((tmp_path / FILE).stat().st_size)
    assert sizes[0] == sizes[1] < 5000


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
