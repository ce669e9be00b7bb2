"""Runs in processes: what each says is shown by name, one that fails or dies does not touch the others, and all can be stopped."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from simulation.sweep.crews import Crews, Outcome
from simulation.sweep.grid import Job
from simulation.sweep.screen import Screen

SMALL: dict[str, Any] = {"dataset": "digits", "model": "mlp:8", "clients": 3, "rounds": 3, "engine": "inline"}


class Noted(Screen):
    """Keeps what it is told, and may do something when a run says something."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, ...]] = []

    def begins(self, name: str) -> None:
        self.lines.append(("begins", name))

    def started(self, name: str, first_round: int, rounds: int) -> None:
        self.lines.append(("started", name, f"{first_round}/{rounds}"))

    def recorded(self, name: str, round: int, figures: str) -> None:
        self.lines.append(("recorded", name, str(round), figures))

    def says(self, name: str, sentence: str) -> None:
        self.lines.append(("says", name, sentence))

    def ended(self, name: str, finished: bool) -> None:
        self.lines.append(("ended", name, str(finished)))

    def of(self, name: str) -> list[str]:
        return [" ".join((line[0], *line[2:3])) for line in self.lines if line[1] == name]


def made(
    folder: Path,
    jobs: dict[str, dict[str, Any]],
    side_by_side: int,
    screen: Screen,
    stop: threading.Event | None = None,
) -> Outcome:
    orders = [Job(name, {**SMALL, "out": str(folder / name), **values}) for name, values in jobs.items()]
    return Crews(folder, screen, stop or threading.Event()).make(orders, side_by_side)


def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "thesis.tex").write_text("x")
    shown = Noted()
    outcome = made(tmp_path, {"one": {}, "bad": {}, "two": {"seed": 1}}, 2, shown)
    assert sorted(outcome.finished) == ["one", "two"] and not outcome.stopped
    assert "holds other files" in outcome.failed["bad"] and "error.txt" not in outcome.failed["bad"]
    assert shown.of("one") == ["begins", "started 1/3", *(f"recorded {n}" for n in range(4)), "ended True"]
    assert "accuracy" in next(line for line in shown.lines if line[0] == "recorded")[3]
    assert [line for line in shown.lines if line[0] == "says"] == [("says", "bad", f"failed: {outcome.failed['bad']}")]


def test_a_process_that_dies_costs_its_run_only(tmp_path: Path) -> None:
    class Killing(Noted):
        crews: Crews

        def recorded(self, name: str, round: int, figures: str) -> None:
            super().recorded(name, round, figures)
            if (name, round) == ("victim", 1):
                os.kill(self.crews.children[0].process.pid, signal.SIGKILL)

    shown = Killing()
    shown.crews = Crews(tmp_path, shown, threading.Event())
    jobs = [
        Job(name, {**SMALL, "rounds": rounds, "out": str(tmp_path / name)})
        for name, rounds in (("victim", 500), ("next", 2))
    ]
    outcome = shown.crews.make(jobs, 1)
    assert outcome.finished == ["next"] and "ended by signal 9" in outcome.failed["victim"]


def test_stopping_ends_all_that_go_on_and_begins_no_other(tmp_path: Path) -> None:
    stop = threading.Event()

    class Stopping(Noted):
        def recorded(self, name: str, round: int, figures: str) -> None:
            super().recorded(name, round, figures)
            if all("recorded 2" in self.of(each) for each in ("one", "two")):
                stop.set()

    shown = Stopping()
    outcome = made(tmp_path, {name: {"rounds": 20_000} for name in ("one", "two", "three")}, 2, shown, stop)
    assert outcome.stopped and outcome.finished == [] and outcome.failed == {}
    assert shown.of("three") == [] and shown.of("one")[-1] == shown.of("two")[-1] == "ended False"
    assert all((tmp_path / name / "checkpoint" / "state.safetensors").exists() for name in ("one", "two"))


def test_an_error_that_nobody_expected_leaves_its_traceback(tmp_path: Path) -> None:
    plugin = tmp_path / "broken.py"
    plugin.write_text(
        "from fedloom import Weighting, part\n\n"
        "@part('broken', slot='weighting', what='fails')\n"
        "class Broken(Weighting):\n"
        "    def weights(self, *given, **named):\n"
        "        raise KeyError('nobody expects this')\n"
    )
    values = {"strategy": "fedavg+broken", "plugin": str(plugin)}
    outcome = made(tmp_path, {"broken": values, "fine": {}}, 1, Screen())
    assert outcome.finished == ["fine"]
    assert "nobody expects this" in outcome.failed["broken"]
    assert "Traceback" in (tmp_path / "broken.error.txt").read_text()


def test_a_sweep_that_is_to_stop_before_it_begins_makes_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    shown = Noted()
    assert made(tmp_path, {"one": {}}, 1, shown, stop).stopped and shown.lines == []


def test_a_run_that_was_over_before_the_stop_was_not_stopped(tmp_path: Path) -> None:
    stop = threading.Event()

    class Late(Noted):
        def ended(self, name: str, finished: bool) -> None:
            stop.set()

    outcome = made(tmp_path, {"one": {"rounds": 1}}, 1, Late(), stop)
    assert outcome.finished == ["one"] and not outcome.stopped
