"""Places on the machines of a cluster: one per GPU, cores spread over them, and a sentence where there is no room."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from simulation.engines.gpu.reservations import Machine, Share, plan_slots
from simulation.engines.gpu.slots import Slots

LARGE = Machine("10.0.0.1", 64, 8)


def plan(share: Share, *machines: Machine, workers: int = 0, clients: int = 1000) -> Slots:
    return plan_slots(machines, share, workers, clients, None)


def test_64_cores_and_8_gpus_begin_with_one_worker_on_each_and_never_have_more_than_cores() -> None:
    slots = plan("auto", LARGE)
    assert [(place.slots, place.most, place.measured) for place in slots.places] == [(1, 8, False)] * 8
    assert slots.most == 64


def test_without_gpus_there_is_one_worker_per_core() -> None:
    for share, machine in (("auto", Machine("10.0.0.1", 4, 0)), (0.0, Machine("10.0.0.1", 4, 8))):
        slots = plan(share, machine)  # type: ignore[arg-type]
        assert [(place.gpus, place.slots, place.measured) for place in slots.places] == [(0, 4, True)]
    assert plan("auto", Machine("10.0.0.1", 4, 0), clients=3).most == 3


def test_fewer_cores_than_gpus_use_as_many_gpus() -> None:
    assert [place.most for place in plan("auto", Machine("10.0.0.1", 2, 8)).places] == [1, 1]


def test_workers_that_were_asked_for_are_spread_over_gpus_and_machines() -> None:
    slots = plan("auto", LARGE, workers=10)
    assert [place.most for place in slots.places] == [2] * 8
    assert slots.most == 10
    two = plan("auto", LARGE, Machine("10.0.0.2", 4, 2), workers=4)
    assert [place.machine for place in two.places] == ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"]


def test_a_share_says_how_many_fit_and_a_whole_number_how_many_a_client_takes() -> None:
    quarter = plan(0.25, LARGE)
    assert [(place.slots, place.most, place.gpus, place.measured) for place in quarter.places] == [(4, 4, 1, True)] * 8
    assert [place.slots for place in plan(0.3, LARGE).places] == [3] * 8
    assert [(place.slots, place.gpus) for place in plan(3.0, LARGE).places] == [(1, 3)] * 2
    assert [(place.slots, place.gpus) for place in plan(1.0, LARGE).places] == [(1, 1)] * 8


@pytest.mark.parametrize(
    ("share", "machine", "workers", "said"),
    [
        (0.5, Machine("10.0.0.1", 4, 0), 1, "--gpus-per-client is 0.5, but there are 0 GPUs"),
        (16.0, LARGE, 0, "--gpus-per-client is 16, but there are 8 GPUs"),
        (1.5, LARGE, 0, "--gpus-per-client is 1.5: expected auto, a share up to 1, or a whole number"),
        (1.0, LARGE, 9, "--workers is 9, but there is room for 8"),
        ("auto", LARGE, 65, "--workers is 65, but there is room for 64"),
        (0.0, LARGE, 65, "--workers is 65, but there is room for 64"),
    ],
)
def test_what_has_no_room_is_a_sentence(share: Share, machine: Machine, workers: int, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan(share, machine, workers=workers)
