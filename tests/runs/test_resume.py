"""A run that is killed, at any moment and with SIGKILL, can be resumed and ends with the bits of one that was never touched."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from fedloom.cli.main import main
from simulation import run

RUN = {
    "dataset": "digits",
    "model": "mlp:16",
    "strategy": "fedssg",
    "partition": "dirichlet:0.3",
    "clients": 4,
    "fraction": 0.5,
    "rounds": 12,
    "lr": 0.1,
    "lr-decay": 0.95,
    "momentum": 0.5,
    "device": "cpu",
    "engine": "inline",
}
MOMENTS = 10


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that start with everything imported, so that ten kills do not cost ten imports of torch."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["simulation.runner", "client_app", "server_app", "simulation.engines.inline"])
    return context


def killed(
    processes: multiprocessing.context.ForkServerContext, config: dict[str, object], folder: Path, after: float
) -> bool:
    """Run, and kill `after` seconds from the moment there is something to resume; says whether it was still running."""
    process = processes.Process(target=run, args=(config,))
    process.start()
    deadline = time.monotonic() + 120
    while not (folder / "config.toml").exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(after)
    alive = process.is_alive()
    process.kill()
    process.join()
    return alive


@pytest.mark.parametrize("save_every", [1, 5])
def test_killed_at_random_moments_ends_with_the_same_bits(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext, save_every: int
) -> None:
    config = {**RUN, "save-every": save_every}
    began = time.monotonic()
    whole = run({**config, "out": str(tmp_path / "whole")})
    bits = (whole.folder / "model.safetensors").read_bytes()
    longest = time.monotonic() - began
    moments = random.Random(f"kill {save_every}")
    interrupted = 0
    for number in range(MOMENTS // 2):
        folder = tmp_path / f"killed-{number}"
        interrupted += killed(processes, {**config, "out": str(folder)}, folder, moments.uniform(0, longest))
        resumed = run({"resume": str(folder)})
        assert resumed.finished
        assert [record["round"] for record in resumed.metrics] == list(range(RUN["rounds"] + 1))  # type: ignore[operator]
        assert (folder / "model.safetensors").read_bytes() == bits, f"killed run {number} ended with other bits"
        for ours, theirs in zip(resumed.metrics, whole.metrics, strict=True):
            assert {k: v for k, v in ours.items() if k != "seconds"} == {
                k: v for k, v in theirs.items() if k != "seconds"
            }
    assert interrupted >= MOMENTS // 4, "hardly any kill came in time: the moments are not random over the run"


def test_killed_again_and_again(tmp_path: Path, processes: multiprocessing.context.ForkServerContext) -> None:
    """The same run killed many times, also while it is being resumed."""
    whole = run({**RUN, "out": str(tmp_path / "whole")})
    folder = tmp_path / "killed"
    killed(processes, {**RUN, "out": str(folder)}, folder, 0.3)
    (folder / "checkpoint").mkdir(exist_ok=True)
    (folder / "checkpoint" / ".state.safetensors.1").write_bytes(b"half a checkpoint")
    for after in (0.0, 0.2, 0.5):
        killed(processes, {"resume": str(folder)}, folder, after)
    assert main(["run", "--resume", str(folder)]) == 0
    assert (folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()
    drafts = [file.name for file in folder.rglob(".*") if file.is_file()]
    assert not drafts, f"half-written files are left: {drafts}"


def test_a_run_without_a_checkpoint_begins_again(tmp_path: Path) -> None:
    whole = run({**RUN, "rounds": 2, "out": str(tmp_path / "whole")})
    bits = (whole.folder / "model.safetensors").read_bytes()
    (whole.folder / "checkpoint" / "state.safetensors").unlink()
    again = run({"resume": str(whole.folder)})
    assert [record["round"] for record in again.metrics] == [0, 1, 2]
    assert (whole.folder / "model.safetensors").read_bytes() == bits
