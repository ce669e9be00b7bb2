"""The dashboard's server as a process: where it listens, and that it ends with its run however that ends."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fl_config.errors import ConfigError
from simulation.dashboard.serving import BesideARun, address_of, listen
from tests.runs.made_runs import write_run

PATIENCE = 60.0
KILLED = """
import os, signal, sys
from pathlib import Path
from simulation.dashboard.serving import BesideARun
with BesideARun(Path(sys.argv[1])) as beside:
    print(beside.url, beside.process.pid, flush=True)
    signal.pause()
"""


def answer(url: str) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    connection.request("GET", f"{parts.path}?{parts.query}")
    response = connection.getresponse()
    return response.status, response.read().decode()


def ended(process: int) -> bool:
    """Whether it is gone; one that nobody has waited for yet is."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_port_that_is_taken_and_an_address_of_others_are_sentences() -> None:
    with listen() as first:
        port = first.getsockname()[1]
        assert address_of(first, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        with pytest.raises(ConfigError, match=f"port {port} .*choose another --port"):
            listen(port=port)
    with pytest.raises(ConfigError, match="from 0 to 65535"):
        listen(port=70_000)
    with pytest.raises(ConfigError, match="192.0.2.1"):
        listen("192.0.2.1")
    with pytest.raises(ConfigError, match="no address of this machine"):
        listen("no.such.name.invalid")


def test_it_stands_beside_a_run_before_its_folder_does_and_ends_with_it(tmp_path: Path) -> None:
    with BesideARun(tmp_path / "a+b") as beside:
        assert beside.url.endswith("/view?run=a%2Bb")
        code, page = answer(beside.url)
        assert code == 404 and "appears here by itself" in page
        write_run(tmp_path / "a+b", rounds=2)
        code, page = answer(beside.url)
        assert code == 200 and "<h1>fedavg</h1>" in page
    assert beside.process.returncode == 0


def test_it_ends_when_its_run_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        url, process = parent.stdout.readline().split()
        assert answer(url)[0] == 404
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while not ended(int(process)):
        assert time.monotonic() < deadline, "the dashboard outlived its run"
        time.sleep(0.1)
