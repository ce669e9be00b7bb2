"""Several runs at once on a screen: lines with names, or bars."""

from __future__ import annotations

import io

from rich.console import Console

from simulation.sweep.screen import BarScreen, PlainScreen, Screen


def play(screen: Screen) -> None:
    with screen:
        screen.opens(3, 1)
        screen.begins("fedavg-seed0")
        screen.begins("feddisco-" + "x" * 60)
        screen.started("fedavg-seed0", 2, 4)
        screen.recorded("fedavg-seed0", 2, "accuracy 0.5000")
        screen.says("fedavg-seed0", "mlflow no longer tracks this run [bold]")
        screen.ended("fedavg-seed0", True)
        screen.ended("feddisco-" + "x" * 60, False)


def test_plain_lines_name_the_run() -> None:
    stream = io.StringIO()
    play(PlainScreen(stream))
    assert stream.getvalue().splitlines() == [
        "3 runs, of which 1 are finished already",
        "[2/3] fedavg-seed0",
        "[3/3] feddisco-" + "x" * 60,
        "fedavg-seed0: goes on with round 2",
        "fedavg-seed0: round 2/4  accuracy 0.5000",
        "fedavg-seed0: mlflow no longer tracks this run [bold]",
    ]


def test_bars_fit_in_80_columns_and_finished_runs_leave_their_figures() -> None:
    stream = io.StringIO()
    play(BarScreen(Console(file=stream, force_terminal=False, width=80)))
    lines = stream.getvalue().splitlines()
    assert "fedavg-seed0: accuracy 0.5000" in lines
    assert "fedavg-seed0: mlflow no longer tracks this run [bold]" in lines
    assert any("runs" in line and "2/3" in line for line in lines) and all(len(line) <= 80 for line in lines)
