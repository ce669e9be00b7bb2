"""A sweep that is killed with SIGKILL leaves no process behind, and the same command ends with the table of an undisturbed one."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from simulation.sweep.ledger import is_finished

SWEEP = [
    *("--strategies", "fedavg,feddisco", "--grid", "lr=0.05,0.1", "--seeds", "3", "--side-by-side", "2"),
    *("--dataset", "digits", "--model", "mlp:8", "--clients", "3", "--rounds", "8", "--engine", "inline"),
]
RUNS = 2 * 2 * 3


def command(out: Path) -> list[str]:
    return [sys.executable, "-m", "fedloom", "sweep", *SWEEP, "--out", str(out)]


def members_of(session: int) -> list[int]:
    """The processes of a session; those of a killed parent keep it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue  # no process, or one that has just ended
        if entry.name.isdigit() and int(of) == session and state != "Z":
            found.append(int(entry.name))
    return found


def table(out: Path) -> list[dict[str, str]]:
    """The rows of the CSV without the time that they took."""
    with (out / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return rows


def test_killed_in_the_middle_and_started_again(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(whole), check=True, capture_output=True)

    process = subprocess.Popen(command(killed), start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (len(list(killed.glob("*/summary.json"))) >= 4 and open_runs(killed)):
        assert time.monotonic() < deadline and process.poll() is None, "no moment to kill it in the middle"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while left := members_of(process.pid):
        assert time.monotonic() < deadline, f"processes are left over: {left}"
        time.sleep(0.05)

    done = {
        folder.name: (folder / "summary.json").stat().st_mtime_ns
        for folder in killed.glob("*-seed?")
        if is_finished(folder)
    }
    assert 4 <= len(done) < RUNS and not (killed / "table.csv").exists()
    again = subprocess.run(command(killed), check=True, capture_output=True, text=True)
    assert f"{RUNS} runs, of which {len(done)} are finished already" in again.stdout
    assert {name: (killed / name / "summary.json").stat().st_mtime_ns for name in done} == done, (
        "a finished run ran again"
    )
    assert table(killed) == table(whole) and len(table(whole)) == 4
    for one in whole.glob("*-seed?"):
        assert (killed / one.name / "model.safetensors").read_bytes() == (one / "model.safetensors").read_bytes()


def open_runs(out: Path) -> list[Path]:
    """Runs that have a checkpoint and are not finished."""
    return [
        one.parents[1]
        for one in out.glob("*/checkpoint/state.safetensors")
        if not (one.parents[1] / "summary.json").exists()
    ]
