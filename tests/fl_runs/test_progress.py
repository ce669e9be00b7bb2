"""Progress in words: one line per round, and who was left out."""

from __future__ import annotations

import contextlib
import io

from rich.console import Console

from fl_runs.progress import BarProgress, PlainProgress, headline, progress

INFO = {"strategy": "feddisco", "clients": 5, "rounds": 9, "first_round": 4}
RECORD = {
    "round": 4,
    "global/accuracy": 0.51239,
    "train/loss": 1.5,
    "dropped": [{"id": 1, "reason": "away"}],
    "seconds": {"train": 1.0, "send": 0.26},
}


def test_a_round_in_a_few_words() -> None:
    assert headline(RECORD) == "accuracy 0.5124, training loss 1.5000, 1 left out"
    assert headline({"personal/accuracy": 0.5, "global/accuracy": None}) == "personal accuracy 0.5000"
    assert headline({"round": 0}) == ""


def test_lines_for_logs_and_pipes() -> None:
    stream = io.StringIO()
    with PlainProgress(stream) as lines:
        lines.started(INFO)
        lines.dropped(4, "site", "no reply within 3 s")
        lines.recorded(RECORD)
    assert stream.getvalue().splitlines() == [
        "feddisco: 5 clients, rounds 4 to 9",
        "round 4: client site is left out: no reply within 3 s",
        "round 4/9  accuracy 0.5124, training loss 1.5000, 1 left out  (1.3 s)",
    ]
    assert isinstance(progress(), PlainProgress)  # under pytest there is no terminal


def test_bars_on_a_terminal() -> None:
    shown = io.StringIO()
    with BarProgress(Console(file=shown, force_terminal=True, width=160)) as bars:
        bars.recorded(RECORD)  # before anything has started there is nothing to move
        bars.started(INFO)
        bars.replied(4, 2, 5)
        bars.recorded(RECORD)
        bars.dropped(4, 1, "[away]")
    assert [(task.completed, task.total) for task in bars.bar.tasks] == [(4, 9), (2, 5)]
    assert "round 4: client 1 is left out: [away]" in shown.getvalue()
    assert "accuracy 0.5124" in shown.getvalue()


def test_the_headline_comes_first_by_its_own_name_and_other_metrics_are_not_shown() -> None:
    record = {
        "round": 1,
        "train/loss": 0.7,
        "global/macro_f1": 0.25,
        "global/loss": 0.5,
        "global/accuracy": 0.75,
        "global/class_accuracy": [0.5, 1.0],
        "personal/macro_f1": 0.125,
        "personal/std": 0.1,
        "personal/accuracy": 0.5,
    }
    assert headline(record) == "macro-f1 0.2500, personal macro-f1 0.1250, loss 0.5000, training loss 0.7000"
    assert headline({"personal/auroc": 0.5, "personal/std": 0.1}) == "personal auroc 0.5000"
    assert (
        headline({"global/loss": 0.5, "global/accuracy": 0.75, "personal/loss": 0.25})
        == "loss 0.5000, personal loss 0.2500"
    )
    assert headline({"global/auroc": None, "global/loss": 0.5}) == "loss 0.5000"


def class_lines(*rounds: list[float | None], planned: int = 2, fails: bool = False) -> list[str]:
    """What is said of a run whose rounds have these accuracies per class."""
    stream = io.StringIO()
    with contextlib.suppress(RuntimeError), PlainProgress(stream) as lines:
        lines.started(INFO | {"first_round": 1, "rounds": planned})
        for number, accuracies in enumerate(rounds):
            lines.recorded({"round": number, "global/class_accuracy": accuracies})
        if fails:
            raise RuntimeError
    return [line for line in stream.getvalue().splitlines() if "never" in line]


def test_a_class_at_zero_is_said_once_at_the_end() -> None:
    one = ["Warning: class 1 is never predicted right (classes are counted from 0)."]
    assert class_lines([0.0, 0.0], [0.0, 0.0], [0.5, 0.0]) == one
    assert class_lines([0.0, 0.0], [0.5, 0.0]) == one  # a run that ended early
    assert class_lines([0.0, 0.0], [0.5, 0.0], fails=True) == []
    assert class_lines([0.0, 0.0], [0.0, 0.0], [0.5, None]) == []
    assert class_lines([0.0, 0.0]) == []
    assert class_lines([0.0] * 12, [0.0] * 12, planned=1) == [
        "Warning: 12 classes are never predicted right: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more (classes are counted from 0)."
    ]


def test_a_bar_says_it_too() -> None:
    shown = io.StringIO()
    with BarProgress(Console(file=shown, force_terminal=True, width=160)) as bars:
        bars.started(INFO)
        bars.recorded({"round": 8, "global/class_accuracy": [0.0, 0.5]})
        bars.recorded({"round": 9})
    assert shown.getvalue().count("class 0 is never predicted right") == 1
