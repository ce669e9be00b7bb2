"""For all tests: property tests are repeatable and not timed (machines are busy), and torch takes one thread, as clients do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

from fl_config.parts import undone
from tests.runs.made_runs import MakeRun, write_run

settings.register_profile("fedloom", deadline=None, derandomize=True)
settings.load_profile("fedloom")
torch.set_num_threads(1)


@pytest.fixture
def pretended_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """torch says that there is a GPU; what choosing it sets in this process is undone afterwards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")  # noted above, so that it is undone whoever sets it
    flags: list[tuple[Any, str, bool]] = [
        (torch.backends.cudnn, "deterministic", False),
        (torch.backends.cudnn, "benchmark", True),
        (torch.backends.cudnn, "allow_tf32", True),
        (torch.backends.cuda.matmul, "allow_tf32", True),
        (torch.utils.deterministic, "fill_uninitialized_memory", True),
    ]
    before = [getattr(owner, name) for owner, name, _ in flags]
    for owner, name, begin in flags:
        setattr(owner, name, begin)
    yield
    for (owner, name, _), value in zip(flags, before, strict=True):
        setattr(owner, name, value)
    torch.set_deterministic_debug_mode("default")


@pytest.fixture
def own_parts() -> Iterator[None]:
    """For a test that reads plug-ins in this process: their parts are forgotten afterwards."""
    with undone():
        yield


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """`make_run("name", strategy=..., seed=..., ...)` writes a run folder of that name and returns it."""
    return lambda name="run", **options: write_run(tmp_path / name, **options)
