"""Workers on declared GPUs: Ray believes that there are two. Which GPU a worker sees, how many fit, and what happens when one does not."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from flwr.app import MessageType

from simulation.engines.ray_grid import RayGrid
from simulation.engines.ray_start import start_local
from tests.simulation.engines.gpu.declared_gpu_app import orders
from tests.simulation.engines.obedient_app import answered, refused

pytestmark = pytest.mark.timeout(240)
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="module")
def declared() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        start_local(6, num_gpus=2, object_store_memory=100 * 2**20)
        yield
        ray.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def grid(declared: None, folder: Path) -> Iterator[RayGrid]:
    with RayGrid("declared_gpu_app:app", 12, {}, gpus_per_client="auto", folder=str(folder)) as opened:
        yield opened


def gpus_of_workers(grid: RayGrid, workers: int) -> Counter[int]:
    """How many workers each GPU has, once so many have answered."""
    seen: dict[int, int] = {}
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and not (len(seen) == workers and all(crew.pid for crew in grid.pool.crews)):
        for told in answered(grid.send_and_receive(orders(range(12)), timeout=60)).values():
            seen[told["pid"]] = told["gpu"]
        seen = {pid: gpu for pid, gpu in seen.items() if any(crew.pid == pid for crew in grid.pool.crews)}
    return Counter(seen.values())


def test_every_gpu_begins_with_one_worker_and_gets_as_many_as_fit(grid: RayGrid, folder: Path) -> None:
    replies = grid.send_and_receive(orders(range(2), MessageType.QUERY), timeout=60)
    assert len(answered(replies)) == 2
    assert sorted(refused(grid.send_and_receive(orders(range(2), broken=True), timeout=60))) == [0, 1]
    assert [place.workers for place in grid.pool.slots.places] == [
        1,
        1,
    ]  # neither a query nor a failure measures anything
    assert gpus_of_workers(grid, 4) == {0: 2, 1: 2}  # six cores would be three each
    assert (folder / "gpu.json").read_text() == f'{{"footprint": {int(6.5 * 2**30)}}}'


def test_a_client_that_finds_no_memory_is_tried_again_with_half_the_workers(grid: RayGrid, tmp_path: Path) -> None:
    order = {"too-large": 3, "once": str(tmp_path / "once")}
    replies = list(grid.send_and_receive(orders(range(12), **order), timeout=100))
    assert sorted(answered(replies)) == list(range(12))
    assert sorted(place.slots for place in grid.pool.slots.places) == [1, 2]
    assert sorted(gpus_of_workers(grid, 3).values()) == [1, 2]


def test_a_client_that_does_not_fit_alone_is_refused_with_the_memory(grid: RayGrid) -> None:
    replies = list(grid.send_and_receive(orders(range(6), **{"too-large": 5}), timeout=100))
    assert sorted(answered(replies)) == list(range(5))
    reason = refused(replies)[5]
    assert "does not hold this client, even alone (16.0 GB in all, 9.5 GB free, 6.0 GB taken" in reason
    assert "--batch-size" in reason


def test_a_share_that_was_given_is_kept_to_and_spread(grid: RayGrid, declared: None) -> None:
    grid.close()  # its reservations end with it
    with RayGrid("declared_gpu_app:app", 12, {}, workers=2, gpus_per_client=0.5) as shared:
        assert gpus_of_workers(shared, 2) == {0: 1, 1: 1}  # Ray alone would put both onto the first
    with RayGrid("declared_gpu_app:app", 12, {}, workers=1, gpus_per_client=0) as without:
        assert gpus_of_workers(without, 1) == {-1: 1}
