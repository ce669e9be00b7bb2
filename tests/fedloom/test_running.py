"""`fedloom.run` from a script: callbacks from start to end, twice in one process, and sentences for what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fedloom
from fl_config.errors import ConfigError
from tests.fl_runs.prediction.small_runs import OPTIONS, small_run


class Diary(fedloom.Callback):
    """Writes down what it is told, and wants the run to end after one round."""

    def __init__(self, until: int) -> None:
        self._until = until
        self._told: list[Any] = []

    def started(self, info: dict[str, Any]) -> None:
        self._told.append(("started", info["rounds"]))

    def recorded(self, record: dict[str, Any]) -> bool:
        self._told.append(record["round"])
        return bool(record["round"] == self._until)

    def ended(self, summary: dict[str, Any]) -> None:
        self._told.append(("ended", summary["rounds"], summary["finished"], summary["final"]["round"]))


@pytest.mark.parametrize(("until", "last"), [(2, 2), (99, 3)])
def test_a_callback_is_told_of_the_end_once_also_of_an_early_one(until: int, last: int, tmp_path: Path) -> None:
    diary = Diary(until)
    run = small_run(tmp_path / "run", rounds=3, callbacks=[diary])
    rounds = list(range(last + 1))
    assert diary._told == [("started", 3), *rounds, ("ended", last, True, last)]
    assert run.finished and run.rounds == last and run.load_model() is not None
    assert run.summary["rounds"] == last


def test_the_folder_is_complete_when_the_end_is_told(tmp_path: Path) -> None:
    seen = []

    class Reader(fedloom.Callback):
        def ended(self, summary: dict[str, Any]) -> None:
            again = fedloom.load(tmp_path / "run")
            seen.append((again.summary == summary, again.predict().empty))

    small_run(tmp_path / "run", callbacks=[Reader()])
    assert seen == [(True, False)]


def test_a_run_that_fails_ends_too(tmp_path: Path) -> None:
    ends = []

    class Broken(fedloom.Callback):
        def recorded(self, record: dict[str, Any]) -> None:
            if record["round"] == 1:
                raise RuntimeError("the callback's own mistake")

        def ended(self, summary: dict[str, Any]) -> None:
            ends.append((summary["rounds"], summary["finished"]))

    with pytest.raises(RuntimeError, match="the callback's own mistake"):
        small_run(tmp_path / "run", callbacks=[Broken()])
    assert ends == [(1, False)]


def test_what_is_no_callback(tmp_path: Path) -> None:
    class Misspelt(fedloom.Callback):
        def record(self, record: dict[str, Any]) -> None: ...

    with pytest.raises(
        ConfigError,
        match="'record', which nobody calls; a callback has dropped, ended, joined, recorded, replied, started",
    ):
        small_run(tmp_path / "run", callbacks=[Misspelt()])
    with pytest.raises(ConfigError, match="is no fedloom.Callback"):
        small_run(tmp_path / "run", callbacks=[print])
    assert not (tmp_path / "run").exists()


def test_progress_is_one_line_per_round_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_run(tmp_path / "quiet")
    assert capsys.readouterr().out == ""
    fedloom.run(**{**OPTIONS, "progress": True, "out": tmp_path / "told", "partition": "iid"})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["fedavg:", "round", "round", "round"] and len(lines) <= 5


def test_twice_in_one_process_gives_the_same(tmp_path: Path) -> None:
    first, second = small_run(tmp_path / "a"), small_run(tmp_path / "b")
    assert first.metrics[-1]["global/loss"] == second.metrics[-1]["global/loss"]
    assert first.predict().equals(second.predict())


def test_the_public_names_are_there() -> None:
    assert all(getattr(fedloom, name) is not None for name in fedloom.__all__)
    with pytest.raises(AttributeError, match="module 'fedloom' has no attribute 'ruin'"):
        fedloom.ruin  # noqa: B018 (looking it up is the test)
