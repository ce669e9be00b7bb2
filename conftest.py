"""For all tests: property tests are repeatable and not timed (machines are busy), and torch takes one thread, as clients do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from fl_config.parts import undone
from tests.runs.made_runs import MakeRun, write_run

settings.register_profile("fedloom", deadline=None, derandomize=True)
settings.load_profile("fedloom")
torch.set_num_threads(1)


@pytest.fixture
def own_parts() -> Iterator[None]:
    """For a test that reads plug-ins in this process: their parts are forgotten afterwards."""
    with undone():
        yield


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """`make_run("name", strategy=..., seed=..., ...)` writes a run folder of that name and returns it."""
    return lambda name="run", **options: write_run(tmp_path / name, **options)
