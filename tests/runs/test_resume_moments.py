"""What SIGKILL leaves behind at chosen moments: the run folder is copied then, put back later, and resumed to the bits of the whole run.

Random kills (test_resume.py) rarely hit a moment at which a client has been used since the last checkpoint and trains again; here every
moment is one. With --save-every above 1 a resume needs what clients remembered at the checkpoint, though newer rounds were acknowledged since.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fl_strategies.round.records import Observer, Record
from simulation import Run, run

RUN = {
    "dataset": "digits", "model": "mlp:8", "partition": "dirichlet:0.5", "clients": 3, "rounds": 7, "lr": 0.1,
    "batch-size": 64, "momentum": 0.5, "save-every": 3, "eval-every": 7, "engine": "inline", "device": "cpu", "seed": 2,
}  # fmt: skip
MOMENTS = ("after round 5", "in round 5", "after round 6", "in round 7")  # saved were rounds 3 and 6


class Copies(Observer):
    """Copies the folder of a run after chosen rounds, and in the middle of them."""

    def __init__(self, folder: Path, copies: Path) -> None:
        self.folder, self.copies = folder, copies

    def _copy(self, moment: str) -> None:
        if moment in MOMENTS:
            shutil.copytree(self.folder, self.copies / moment)

    def recorded(self, record: Record) -> None:
        self._copy(f"after round {record['round']}")

    def replied(self, round: int, done: int, expected: int) -> None:
        if done == 2:
            self._copy(f"in round {round}")


def figures(result: Run) -> list[Record]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in result.metrics]


@pytest.mark.parametrize("strategy", ["scaffold", "feddyn", "moon", "fedper"])
def test_a_run_killed_between_checkpoints_resumes_to_the_same_bits(tmp_path: Path, strategy: str) -> None:
    folder, copies = tmp_path / "run", tmp_path / "copies"
    whole = run({**RUN, "strategy": strategy, "out": str(folder)}, [Copies(folder, copies)])
    bits = (folder / "model.safetensors").read_bytes()
    assert sorted(copy.name for copy in copies.iterdir()) == sorted(MOMENTS)
    for moment in MOMENTS:
        shutil.rmtree(folder)
        shutil.copytree(copies / moment, folder)
        resumed = run({"resume": str(folder)})
        assert (folder / "model.safetensors").read_bytes() == bits, f"killed {moment}"
        assert figures(resumed) == figures(whole), f"killed {moment}"
        assert "has lost what it remembered" not in (folder / "log.txt").read_text()
