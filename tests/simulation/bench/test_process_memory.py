"""The memory of a process is that of everything it started, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from simulation.bench.process_memory import memory_mb

pytestmark = pytest.mark.timeout(120)


def test_memory_counts_the_children_too() -> None:
    block = 60 * 2**20
    child = f"import sys; held = bytes({block} // 2) * 2; print('held', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert memory_mb(process.pid) > 60
        assert process.stdin is not None
        process.stdin.close()
