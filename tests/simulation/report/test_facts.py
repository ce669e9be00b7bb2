"""What the page says in words."""

from __future__ import annotations

from pathlib import Path

from fl_runs.reading import RunRecord
from simulation.report.facts import dropped_clients, key_figures
from tests.runs.made_runs import record


def test_key_figures_leave_out_what_no_run_has() -> None:
    assert [what for what, _, _ in key_figures([record("local", 1, {})])] == ["Rounds"]
    shown = key_figures([record("fedavg", 1, {0: 0.1, 3: 0.9, 4: 0.8}, clients=7)])
    assert ("Final accuracy", "80.00 %", "round 4") in shown
    assert ("Best accuracy", "90.00 %", "round 3") in shown
    assert ("Clients", "7", "") in shown


def test_dropped_clients_are_listed_with_reason_and_rounds() -> None:
    drop = {"id": "mercy", "reason": "No reply."}
    metrics = [{"round": n, "dropped": [drop] if n in (2, 5) else []} for n in range(1, 7)]
    assert dropped_clients([RunRecord(Path("r"), {}, metrics, {}, None, "r")]) == [("r", "mercy", "No reply.", "2, 5")]
