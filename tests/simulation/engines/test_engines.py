"""The model after five rounds has the same bits on every engine, with any number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from simulation.engines.ray_start import start_local
from simulation.runner import run

pytestmark = pytest.mark.timeout(300)
RECIPES = ["fedavg", "scaffold", "fedssg+disco"]


@pytest.fixture(scope="module")
def running_ray() -> Iterator[None]:
    """A Ray that the runs find running, so that each starts quickly; and must leave running."""
    start_local(2, _system_config={})  # as others start it: not with our settings
    yield
    ray.shutdown()


def small_run(folder: Path, strategy: str, engine: str, workers: int = 0) -> dict[str, Any]:
    options = {"dataset": "digits", "partition": "dirichlet:0.3", "model": "mlp:32", "clients": 6, "fraction": 0.5}
    own = {"strategy": strategy, "rounds": 5, "seed": 3, "engine": engine, "workers": workers, "out": str(folder)}
    done = run({**options, **own})
    assert [record["round"] for record in done.metrics] == [0, 1, 2, 3, 4, 5]
    assert all(not record.get("dropped") for record in done.metrics)
    return done.model


def assert_same_bits(model: dict[str, Any], expected: dict[str, Any]) -> None:
    assert model.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(model[name], value, err_msg=name)


@pytest.mark.parametrize("strategy", RECIPES)
@pytest.mark.usefixtures("running_ray")
def test_ray_gives_the_bits_of_inline_with_one_worker_and_with_two(strategy: str, tmp_path: Path) -> None:
    expected = small_run(tmp_path / "inline", strategy, "inline")
    for workers in (1, 2):
        assert_same_bits(small_run(tmp_path / f"ray-{workers}", strategy, "ray", workers), expected)
        assert ray.is_initialized()


@pytest.mark.parametrize("strategy", RECIPES)
def test_flower_gives_the_bits_of_inline(strategy: str, tmp_path: Path) -> None:
    expected = small_run(tmp_path / "inline", strategy, "inline")
    assert_same_bits(small_run(tmp_path / "flower", strategy, "flower", 2), expected)
