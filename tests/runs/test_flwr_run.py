"""The app under Flower's own command, offline: `flwr run .` on its simulation runtime gives the bits of the inline engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulation import run

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"dataset": "digits", "model": "mlp:16", "clients": 4, "rounds": 2, "strategy": "feddyn+disco", "lr": 0.1}


def processes_of(home: Path) -> list[int]:
    """Processes that were started with this Flower home; a background superlink outlives the command."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if str(home).encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended, or is not ours to read
    return found


@pytest.fixture
def flower_home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "flower-home"
    home.mkdir()
    yield home
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes_of(home):
            os.kill(process, signal_number)
        deadline = time.monotonic() + 10
        while processes_of(home) and time.monotonic() < deadline:
            time.sleep(0.1)


def flwr(home: Path, *arguments: str) -> str:
    folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "FLWR_HOME": str(home),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "FLWR_TELEMETRY_ENABLED": "0",
    }
    command = [str(folder / "flwr"), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_flwr_run_offline_gives_the_same_bits(tmp_path: Path, flower_home: Path) -> None:
    out = tmp_path / "under-flower"
    given = " ".join(
        f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in CONFIG.items()
    )
    flwr(flower_home, "federation", "simulation-config", "@none/default", "local", "--num-supernodes", "4")
    told = flwr(flower_home, "run", ".", "local", "--stream", "--run-config", f'{given} out="{out}"')
    assert (out / "summary.json").exists(), told
    inline = run({**CONFIG, "engine": "inline", "out": str(tmp_path / "inline")})
    assert (out / "model.safetensors").read_bytes() == (inline.folder / "model.safetensors").read_bytes()
