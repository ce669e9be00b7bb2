"""The process of a sweep: it ends with its parent, whatever it is doing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from simulation.sweep.child import BOOT
from simulation.sweep.crews import OURS

LONG = {"dataset": "digits", "model": "mlp:8", "clients": 3, "rounds": 5000, "engine": "inline"}


def begun(folder: Path, parent: int) -> subprocess.Popen[bytes]:
    """In a folder with a `simulation.py` of the user's, which must not be taken for ours."""
    (folder / "simulation.py").write_text("raise RuntimeError('the wrong module')\n")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    )
    assert process.stdin is not None
    first = {"path": [OURS, str(folder), *filter(None, sys.path)], "parent": parent}
    process.stdin.write(json.dumps(first).encode() + b"\n")
    process.stdin.flush()
    return process


def test_the_end_of_its_input_ends_it_also_in_the_middle_of_a_run(tmp_path: Path) -> None:
    process = begun(tmp_path, os.getpid())
    assert process.stdin is not None and process.stdout is not None
    order = {"name": "long", "values": {**LONG, "out": str(tmp_path / "long")}}
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        what, content = json.loads(line)
        if what == "recorded" and content["round"] == 2:
            break
    process.stdin.close()
    assert process.wait(timeout=30) == 1
    process.stdout.close()


def test_without_work_it_ends_in_order(tmp_path: Path) -> None:
    process = begun(tmp_path, os.getpid())
    assert process.communicate(timeout=120) == (b"", None) and process.returncode == 0


def test_a_parent_that_is_gone_already_is_noticed(tmp_path: Path) -> None:
    process = begun(tmp_path, 1 if os.getpid() != 1 else 2)
    assert process.wait(timeout=120) == 1
    process.communicate()
