"""Trackers as observers: which are chosen, and that none of them ends a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from fl_runs.tracking import tracking
from fl_runs.tracking.base import TrackedRun, Tracker
from fl_runs.tracking.tracking import Tracking, chosen
from simulation import run
from tests.fl_runs.tracking.tracked_runs import ROUNDS, tracked


class Notebook(Tracker):
    """A tracker that writes down what it is told, and fails at what its place names."""

    name, library = "notebook", "json"

    def open(self, run: TrackedRun, kept: Mapping[str, Any]) -> dict[str, Any]:
        self.told: list[Any] = []
        self._do("open", kept.get("id"))
        return {"id": "n1"}

    def log(self, round: int, numbers: Mapping[str, float]) -> None:
        self._do(f"log {round}", sorted(numbers))

    def attach(self, page: Path) -> None:
        self._do("attach", page.name)

    def close(self, finished: bool) -> None:
        self._do("close", finished)

    def _do(self, what: str, told: object) -> None:
        if what == self.place:
            raise OSError(28, "No space left on device")
        self.told.append((what, told))


def summary(finished: bool = True) -> dict[str, Any]:
    return {"finished": finished}


def test_trackers_are_chosen_by_name_and_place() -> None:
    made = chosen("tensorboard:tb, mlflow:sqlite:///x.db")
    assert [(one.name, one.place) for one in made] == [("tensorboard", "tb"), ("mlflow", "sqlite:///x.db")]
    assert chosen("") == []
    with pytest.raises(ConfigError, match="no tracker 'tensorbord'; did you mean 'tensorboard'?"):
        chosen("tensorbord")
    with pytest.raises(ConfigError, match="'wandb' twice"):
        chosen("wandb,wandb:x")


def test_a_tracker_is_told_everything_in_order_and_goes_on_under_its_own_id(tmp_path: Path) -> None:
    book = Notebook()
    one = Tracking(tmp_path, [book])
    one.page = lambda folder: folder / "report.html"
    one.open({"strategy": "fedavg"}, [])
    one.recorded({"round": 0, "a": 1})
    one.ended(summary())
    assert book.told == [("open", None), ("log 0", ["a"]), ("attach", "report.html"), ("close", True)]
    again = Notebook()
    two = Tracking(tmp_path, [again])
    two.open({"strategy": "fedavg"}, [{"round": 0, "a": 1}])
    two.ended(summary(finished=False))
    assert again.told == [("open", "n1"), ("log 0", ["a"]), ("close", False)]


@pytest.mark.parametrize("moment", ["log 1", "attach", "close"])
def test_a_tracker_that_fails_is_told_once_and_the_others_go_on(
    moment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = Notebook(moment), Notebook()
    both = Tracking(tmp_path, [bad, good])
    both.page = lambda folder: folder / "report.html"
    both.open({"strategy": "fedavg"}, [])
    for round in range(4):
        both.recorded({"round": round, "a": 1})
    both.ended(summary())
    assert [what for what, _ in good.told] == ["open", "log 0", "log 1", "log 2", "log 3", "attach", "close"]
    assert "close" not in [what for what, _ in bad.told]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("notebook no longer tracks this run") and "No space left on device" in line


def test_a_tracker_that_cannot_begin_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--track notebook cannot begin: .*No space left"):
        Tracking(tmp_path, [Notebook("open")]).open({"strategy": "fedavg"}, [])


def test_a_report_that_cannot_be_written_costs_the_trackers_only_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(folder: Path) -> Path:
        raise OSError(28, "No space left on device")

    book = Notebook()
    one = Tracking(tmp_path, [book])
    one.page = full
    one.open({"strategy": "fedavg"}, [])
    one.ended(summary())
    assert [what for what, _ in book.told] == ["open", "close"]
    assert "get no report" in capsys.readouterr().err


def test_a_whole_run_survives_its_tracker_and_a_resume_gives_it_what_it_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Notebook] = []

    class Kept(Notebook):
        def __init__(self, place: str = "") -> None:
            super().__init__(place)
            made.append(self)

    monkeypatch.setitem(tracking.TRACKERS, "notebook", Kept)
    done = tracked(tmp_path / "run", "notebook:log 2", rounds=ROUNDS - 1)
    assert done.finished and done.rounds == ROUNDS - 1
    assert capsys.readouterr().err.count("no longer tracks") == 1
    untracked = tracked(tmp_path / "plain", "", rounds=ROUNDS - 1)
    assert (done.folder / "model.safetensors").read_bytes() == (untracked.folder / "model.safetensors").read_bytes()
    assert json.loads((done.folder / "tracking.json").read_text()) == {"notebook": {"id": "n1"}}
    run({"resume": str(done.folder), "rounds": ROUNDS, "track": "notebook"})
    told = [what for what, _ in made[-1].told]
    assert told == ["open", *(f"log {round}" for round in range(ROUNDS + 1)), "attach", "close"]
