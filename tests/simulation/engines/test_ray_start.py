"""Ray begins to start before torch is loaded, and ends with the command also where the run never came to use it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from simulation.engines import ray_start
from simulation.engines.ray_start import RayStart, begin_early

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Starts that were asked for, without Ray."""
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(ray_start, "start_ray", lambda *given: asked.append(given))
    return asked


def test_only_a_run_on_the_ray_engine_begins_it(started: list[tuple[str, int]]) -> None:
    for values in ({"engine": "inline"}, {"resume": "runs/somewhere"}, {"engine": "flower"}):
        begin_early(values)
    assert RayStart.begun is None
    begin_early({"workers": 3})
    first: Any = RayStart.begun
    assert RayStart.take("", 3) is first
    assert RayStart.take("", 3) is None  # another's
    first.end()
    assert started == [("", 3)]
    assert RayStart.begun is None


def test_one_that_was_begun_for_something_else_is_not_used(started: list[tuple[str, int]]) -> None:
    begin_early({"workers": 3})
    other = RayStart.take("", 2)
    assert other is not None
    other.end()
    assert started == [("", 3), ("", 2)]


def test_wrong_options_are_an_error_before_anything_starts(started: list[tuple[str, int]]) -> None:
    with pytest.raises(ConfigError, match="workers"):
        begin_early({"workers": "many"})
    assert not started


def test_what_goes_wrong_is_raised_where_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str, cores: int) -> None:
        raise ConfigError("No Ray cluster answers.")

    monkeypatch.setattr(ray_start, "start_ray", refuse)
    RayStart("10.0.0.1:6379", 2)
    with pytest.raises(ConfigError, match="No Ray cluster answers"):
        RayStart.take("10.0.0.1:6379", 2)
    assert RayStart.begun is None  # so that the next run begins anew


def test_a_start_that_fails_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    starts: list[dict[str, Any]] = []
    failing = 1

    def init(address: str, **given: Any) -> None:
        starts.append(given)
        if len(starts) <= failing:
            raise Exception(f"The node timed out, {len(starts)}.")  # of this very class

    monkeypatch.setattr("ray.init", init)
    ray_start.start_local(3, num_gpus=2)
    assert len(starts) == 2 and starts[0] == starts[1]
    assert (starts[1]["num_cpus"], starts[1]["num_gpus"]) == (3, 2)
    assert "Ray did not start (The node timed out, 1.). Trying once more." in caplog.text
    starts.clear()
    failing = 2
    with pytest.raises(Exception, match="The node timed out, 2"):
        ray_start.start_local(3)


def test_an_address_where_nobody_is_is_a_sentence_within_seconds() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"No Ray cluster answers at '{address}' .*refused"):
            ray_start.start_ray(address, 2)


def test_what_is_refused_after_ray_was_begun_leaves_no_process(tmp_path: Path) -> None:
    wrong = ["--dataset", "fashon-mnist", "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", "fedloom.cli.main", "run", *wrong]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    _, complaint = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "did you mean 'fashion-mnist'?" in complaint
    deadline = time.monotonic() + 15  # they were told to end; that takes them a moment
    while _members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _members(process.pid)


def _members(session: int) -> list[str]:
    """Processes of a session that still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(folder.name)
    return found
