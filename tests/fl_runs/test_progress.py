"""Progress in words: one line per round, and who was left out."""

from __future__ import annotations

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
