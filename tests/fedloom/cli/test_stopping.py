"""Ctrl-C ends a run in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.fedloom.cli.command_line import SMALL


def test_interrupt_leaves_a_valid_folder_and_a_resume_command(tmp_path: Path) -> None:
    """A real Ctrl-C in round 3: two rounds stay, and what comes next is printed."""
    out = tmp_path / "run"
    flags = [*SMALL, "--epochs", "60", "--rounds", "50", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "simulation", "run", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        if line.startswith("round 2/"):
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert f"--resume {out}" in told
    assert "Traceback" not in told
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    rounds = [line["round"] for line in lines]
    assert rounds[:3] == [0, 1, 2] and len(rounds) <= 4
    summary = json.loads((out / "summary.json").read_text())
    assert summary["finished"] is False and summary["rounds"] == rounds[-1]
    assert all(np.isfinite(value).all() for value in load_file(out / "model.safetensors").values())
