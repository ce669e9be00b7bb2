"""Which checkpoint counts: the newest whose round has its line."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from fl_runs.checkpoints import PREVIOUS, Checkpoints, open_checkpoint, whole_lines
from fl_strategies.checkpoint import FILE
from fl_strategies.round.state import RunState


def state(round: int) -> RunState:
    return RunState(round, np.full(3, round, dtype=np.float32), {})


def lines(folder: Path, last: int, cut: str = "") -> Path:
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps({"round": round}) + "\n" for round in range(last + 1)) + cut)
    return path


def test_a_checkpoint_is_written_when_it_is_due_and_the_one_before_goes_when_the_line_is_there(tmp_path: Path) -> None:
    made = Checkpoints(tmp_path, every=2)
    assert [made.save(state(round), round == 5) for round in range(1, 6)] == [False, True, False, True, True]
    assert made.saved == 5 and made.kept is None and {item.name for item in tmp_path.iterdir()} == {FILE, PREVIOUS}
    made.counts(4)
    assert (tmp_path / PREVIOUS).exists()
    made.counts(5)
    assert made.kept == 5
    assert [item.name for item in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("rounds", "last_line", "goes_on_after"),
    [(2, 2, 2), (2, 1, 1), (1, 0, None), (1, 1, 1), (0, 0, None)],
    ids=["whole", "no line", "no line of the first", "whole first", "nothing"],
)
def test_a_run_goes_on_from_a_round_that_has_its_line(
    rounds: int, last_line: int, goes_on_after: int | None, tmp_path: Path
) -> None:
    made = Checkpoints(tmp_path / "checkpoint", every=1)
    for round in range(1, rounds + 1):
        made.save(state(round), False)
        if round < rounds:
            made.counts(round)
    found = open_checkpoint(tmp_path / "checkpoint", lines(tmp_path, last_line, cut='{"round": 2, "glo'))
    assert (found.round if found else None) == goes_on_after
    assert not (tmp_path / "checkpoint" / PREVIOUS).exists()
    again = open_checkpoint(tmp_path / "checkpoint", tmp_path / "metrics.jsonl")
    assert (again.round if again else None) == goes_on_after


def test_a_disk_without_links_keeps_one_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Checkpoints(tmp_path, every=1)
    made.save(state(1), False)
    made.counts(1)

    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("os.link", refuse)
    number = errno.ENOTSUP
    made.save(state(2), False)
    assert [item.name for item in tmp_path.iterdir()] == [FILE]
    number = errno.EIO
    with pytest.raises(OSError, match="refused"):
        made.save(state(3), False)


def test_lines_are_read_up_to_one_that_was_cut_short(tmp_path: Path) -> None:
    assert whole_lines(tmp_path / "metrics.jsonl") == []
    assert whole_lines(lines(tmp_path, 1, cut='{"rou')) == [{"round": 0}, {"round": 1}]
