"""Progress in words: one line per round, and who was left out."""

from __future__ import annotations

import contextlib
import io
import re

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


def rounds_told(planned: int, done: int, first: int = 1) -> list[int]:
    """The rounds that have a line, of a run that ends after so many."""
    stream = io.StringIO()
    with PlainProgress(stream) as lines:
        lines.started(INFO | {"rounds": planned, "first_round": first})
        for round in range(first - 1, done + 1):
            lines.recorded({"round": round, "global/accuracy": 0.5})
    return [int(line.split()[1].partition("/")[0]) for line in stream.getvalue().splitlines()[1:]]


def test_a_log_of_many_rounds_stays_readable() -> None:
    assert rounds_told(100, 100) == list(range(101))
    assert rounds_told(1000, 1000) == [0, 1, *range(10, 1001, 10)]
    assert rounds_told(1000, 1000, first=950) == list(range(949, 1001))  # what is left of a resumed run
    assert rounds_told(1005, 1005)[-2:] == [1001, 1005]
    assert rounds_told(1000, 17) == [0, 1, 10, 17]  # ended in between: its last figures are said


def test_many_clients_that_are_left_out_are_no_flood() -> None:
    stream = io.StringIO()
    with PlainProgress(stream) as lines:
        for client in range(500):
            lines.dropped(1, client, "away")
    told = stream.getvalue().splitlines()
    assert len(told) == 21 and told[19] == "round 1: client 19 is left out: away" and "log.txt" in told[20]


def on_screen(text: str) -> list[str]:
    """What a terminal shows at the end: cursor movements undone, colours left out."""
    screen: list[str] = [""]
    row = 0
    for piece in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", text):
        if piece == "\n":
            row += 1
            screen += [""] * (row + 1 - len(screen))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece in ("\x1b[2K", "\r"):
            screen[row] = ""
        elif not piece.startswith("\x1b"):
            screen[row] += piece
    return [line.rstrip() for line in screen if line.strip()]


def test_bars_are_readable_at_80_columns_and_leave_the_last_figures() -> None:
    shown = io.StringIO()
    with BarProgress(Console(file=shown, force_terminal=True, width=80)) as bars:
        bars.started(INFO | {"strategy": "feddyn+disco+asd+momentum+more", "rounds": 1000, "first_round": 1})
        bars.replied(4, 2, 500)
        bars.recorded(RECORD | {"round": 1000, "personal/accuracy": 0.25, "global/loss": 2.5})
    first, *rest = on_screen(shown.getvalue())
    assert first.startswith("feddyn+disco+asd+momen... ") and " 1000/1000 0:0" in first and "…" not in first
    assert all(len(line) <= 80 for line in (first, *rest))
    assert " ".join(rest) == (
        "round 1000: accuracy 0.5124, personal accuracy 0.2500, loss 2.5000, training loss 1.5000, 1 left out"
    )


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
