"""Stopping early: evaluations without a better headline are counted, also by a resumed run; a level that is reached ends a run."""

from __future__ import annotations

import logging

import pytest

from fl_runs.early_stopping import Level, Patience, early_stops
from fl_runs.plan import make_plan


def record(number: int, value: float | None) -> dict[str, object]:
    return {"round": number} if value is None else {"round": number, "global/accuracy": value}


def answers(patience: Patience | Level, values: list[float | None]) -> list[bool]:
    return [patience.recorded(record(number, value)) for number, value in enumerate(values)]


def test_the_second_evaluation_without_a_better_one_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fedloom")
    patience = Patience(make_plan({"patience": 2}), [])
    # An equal value is no better one, and a round without an evaluation does not count.
    assert answers(patience, [0.5, 0.5, 0.6, None, 0.6, None, 0.4]) == [False] * 6 + [True]
    assert (patience.best, patience.waited) == (0.6, 2)
    assert caplog.messages == ["round 6: 2 evaluations without a better accuracy"]


def test_less_may_be_better() -> None:
    patience = Patience(make_plan({"patience": 1, "headline": "loss"}), [])
    losses = [{"round": number, "global/loss": value} for number, value in enumerate([2.0, 1.0, 1.5])]
    assert [patience.recorded(line) for line in losses] == [False, False, True]


def test_a_resumed_run_remembers() -> None:
    before = [record(0, 0.5), record(1, 0.4)]
    assert answers(Patience(make_plan({"patience": 2}), before), [0.45]) == [True]
    assert answers(Patience(make_plan({"patience": 2}), before), [0.55, 0.5]) == [False, False]


def test_the_first_evaluation_at_the_level_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fedloom")
    level = Level(make_plan({"stop-at": 0.6}))
    assert answers(level, [0.5, None, 0.59, 0.6, 0.61, float("nan")]) == [False, False, False, True, True, False]
    assert caplog.messages[0] == "round 3: accuracy 0.6000, as --stop-at 0.6 asks"


def test_a_loss_reaches_its_level_from_above() -> None:
    level = Level(make_plan({"stop-at": 0.6, "headline": "loss"}))
    losses = [{"round": number, "global/loss": value} for number, value in enumerate([2.0, 0.6, 0.5])]
    assert [level.recorded(line) for line in losses] == [False, True, True]


def test_only_what_is_asked_for_stops_a_run() -> None:
    assert early_stops(make_plan({}), []) == []
    both = early_stops(make_plan({"patience": 3, "stop-at": 0.9}), [])
    assert [type(one) for one in both] == [Patience, Level]
