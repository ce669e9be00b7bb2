"""The arithmetic of slots: how many workers a GPU's memory holds, where the next one goes, and what an exhausted GPU comes down to."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from simulation.engines.gpu.gpu_memory import Reading
from simulation.engines.gpu.slots import Place, Slots, fitting, spread

GB = 2**30
FIRST = Reading(free=int(9.5 * GB), total=16 * GB, held=6 * GB, peak=6 * GB)  # takes 6.5 GB of 14.4 GB
EXHAUSTED = Reading(free=GB, total=16 * GB, held=0, peak=15 * GB, exhausted=True)


def gpus(count: int, most: int = 8, *, workers: int = 100, folder: Path | None = None) -> Slots:
    return Slots([Place(f"GPU {n}", most, 1, measured=False, gpus=1) for n in range(count)], workers, folder)


def filled(slots: Slots) -> list[int]:
    while slots.take():
        pass
    return [place.workers for place in slots.places]


@given(st.integers(0, 200), st.integers(1, 20))
def test_spread_is_even_and_whole(count: int, over: int) -> None:
    heaps = spread(count, over)
    assert sum(heaps) == count and len(heaps) == over
    assert max(heaps) - min(heaps) <= 1


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 64))
def test_what_fits_has_room_and_one_more_has_not(room: int, footprint: int, most: int) -> None:
    count = fitting(room, footprint, most)
    assert 1 <= count <= most
    assert count == 1 or count * footprint <= room
    assert count == most or (count + 1) * footprint > room


def test_one_worker_per_gpu_until_its_first_client_has_trained() -> None:
    slots = gpus(2)
    first, second = slots.places
    assert filled(slots) == [1, 1]
    slots.hear(first, [FIRST], trained=False, halvings=0)
    assert filled(slots) == [1, 1]
    slots.hear(first, [FIRST], trained=True, halvings=0)
    assert filled(slots) == [2, 1]
    slots.hear(first, [Reading(15 * GB, 16 * GB, GB, GB)], trained=True, halvings=0)  # what was measured is kept
    assert filled(slots) == [2, 1]
    # The second's first client was small, but one that takes 6.5 GB is known of.
    slots.hear(second, [Reading(15 * GB, 16 * GB, GB, GB)], trained=True, halvings=0)
    assert filled(slots) == [2, 2]


def test_cores_and_clients_limit_what_memory_would_hold() -> None:
    small = Reading(free=15 * GB, total=16 * GB, held=GB, peak=2**20)
    slots = gpus(2, most=3, workers=5)
    for place in slots.places:
        slots.hear(place, [small], trained=True, halvings=0)
    assert filled(slots) == [3, 2]


def test_clients_that_do_not_use_the_gpu_are_limited_by_cores_alone() -> None:
    slots = gpus(1, most=4)
    slots.hear(slots.places[0], [None], trained=False, halvings=0)
    assert filled(slots) == [1]
    slots.hear(slots.places[0], [None], trained=True, halvings=0)
    assert filled(slots) == [4]


def test_halving_counts_once_for_all_that_ran_side_by_side() -> None:
    slots = Slots([Place("GPU", 8, 8, gpus=1)], 8)
    (place,) = slots.places
    assert filled(slots) == [8]
    assert slots.hear(place, [EXHAUSTED], trained=True, halvings=0)
    assert slots.hear(place, [EXHAUSTED, FIRST], trained=True, halvings=0)  # it had eight beside it as well
    assert place.slots == 4
    for expected in (2, 1):
        assert slots.hear(place, [EXHAUSTED], trained=True, halvings=place.halvings)
        assert place.slots == expected
    assert slots.hear(place, [EXHAUSTED], trained=True, halvings=place.halvings - 1)
    assert not slots.hear(place, [EXHAUSTED], trained=True, halvings=place.halvings)


def test_the_first_client_of_a_gpu_that_does_not_fit_is_not_tried_again() -> None:
    slots = gpus(1)
    assert not slots.hear(slots.places[0], [EXHAUSTED], trained=True, halvings=0)


def test_a_resumed_run_knows_what_a_client_takes(tmp_path: Path) -> None:
    before = gpus(1, folder=tmp_path)
    before.hear(before.places[0], [Reading(15 * GB, 16 * GB, GB, GB)], trained=True, halvings=0)
    assert before.places[0].slots == 8
    before.hear(before.places[0], [EXHAUSTED], trained=True, halvings=0)
    after = gpus(1, folder=tmp_path)
    after.hear(after.places[0], [Reading(15 * GB, 16 * GB, GB, GB)], trained=False, halvings=0)
    assert after.places[0].slots == 4
