"""How far runs are, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fl_runs.reading import RunRecord
from simulation.dashboard.progress_line import seconds_per_round, status_of


def run_of(rounds: int, planned: Any, seconds: float | None = 2.0, dropped: int = 0) -> RunRecord:
    metrics: list[dict[str, Any]] = [{"round": number} for number in range(rounds + 1)]
    for line in metrics[1:]:
        if seconds is not None:
            line["seconds"] = {"train": seconds / 2, "evaluate": seconds / 2}
    if dropped:
        metrics[-1]["dropped"] = [{"id": n, "reason": "late"} for n in range(dropped)]
    return RunRecord(Path("r"), {"rounds": planned}, metrics, {}, None, "r")


def test_a_running_run_says_how_long_it_will_take() -> None:
    status = status_of([run_of(10, 40, dropped=1)], ["running"])
    assert status.text == "round 10 of 40 · 2.0 s per round · about 1 min 00 s left · 1 reply dropped"
    assert (status.share, status.word) == (0.25, "Running")
    assert status_of([run_of(39, 40)], ["running"]).text.endswith("about 2 s left")
    assert status_of([run_of(0, 40)], ["running"]).text == "round 0 of 40 · waiting for the first round"
    assert seconds_per_round(run_of(3, 3, None)) is None


def test_several_runs_are_summed() -> None:
    runs = [run_of(10, 10), run_of(4, 10), run_of(2, 10)]
    status = status_of(runs, ["finished", "running", "failed"])
    assert status.state == "running"
    assert status.text == "1 of 3 runs finished, 16 of 30 rounds · about 12 s left for the runs that are going on"
    assert status_of(runs[:1] * 2, ["finished", "failed"]).word == "Failed"


def test_a_run_that_does_not_say_its_rounds_is_as_long_as_it_is() -> None:
    status = status_of([run_of(3, "?")], ["finished"], "a problem")
    assert (status.text, status.share, status.problem) == ("round 3 of 3", 1.0, "a problem")
