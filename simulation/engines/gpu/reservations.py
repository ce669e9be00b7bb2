"""Where Ray puts the workers: one reservation per GPU, because Ray by itself packs fractions of GPUs onto the first of them.

A worker of a reservation sees only its GPU: Ray sets CUDA_VISIBLE_DEVICES for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fl_config.errors import ConfigError
from simulation.engines.gpu.slots import Place, Slots, spread

Share = float | Literal["auto"]


@dataclass(frozen=True)
class Machine:
    """A machine of the cluster."""

    address: str
    cores: int
    gpus: int


def machines(nodes: Iterable[Mapping[str, Any]]) -> list[Machine]:
    """What Ray says of its nodes."""
    return [
        Machine(node["NodeManagerAddress"], int(node["Resources"].get("CPU", 0)), int(node["Resources"].get("GPU", 0)))
        for node in nodes
    ]


class Reservations:
    """Ray's options for the workers of a place. Its GPU and cores are reserved when they are first asked for."""

    def __init__(self) -> None:
        self._groups: dict[Place, Any] = {}

    def options(self, place: Place) -> dict[str, Any]:
        if not place.gpus:
            return {"num_cpus": 1, "num_gpus": 0}
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        if place not in self._groups:
            # Every node has one of a resource that is named after its address: a little of it ties the reservation to the node.
            bundle = {"CPU": place.most, "GPU": place.gpus, f"node:{place.machine}": 0.001}
            self._groups[place] = placement_group([bundle])
        own = PlacementGroupSchedulingStrategy(self._groups[place], placement_group_bundle_index=0)
        return {"num_cpus": 1, "num_gpus": self._fraction(place), "scheduling_strategy": own}

    def _fraction(self, place: Place) -> float:
        """Of which `place.most` fit into its GPUs; Ray counts in units of 1/10000."""
        return place.gpus if place.most == 1 else int(10_000 * place.gpus / place.most) / 10_000

    def release(self) -> None:
        from ray.util.placement_group import remove_placement_group

        for group in self._groups.values():
            remove_placement_group(group)
        self._groups = {}


def plan_slots(machines: Sequence[Machine], share: Share, wanted: int, clients: int, folder: Path | None) -> Slots:
    """The places of these machines; `share` of a GPU per client, 0 for none, and `wanted` workers, 0 for as many as have room."""
    gpus = sum(machine.gpus for machine in machines)
    if share == 0 or (share == "auto" and not gpus):
        room = sum(machine.cores for machine in machines)
        workers = _checked(wanted, room, clients)
        return Slots([Place("the cores", workers, workers)], workers, folder)
    size, slots = _size(share)
    found = [place for machine in machines for place in _places(machine, size, slots)]
    if not found:
        raise ConfigError(
            f"--gpus-per-client is {share if share == 'auto' else format(share, 'g')}, but there are {gpus} GPUs and "
            f"{sum(machine.cores for machine in machines)} cores: lower it, or 0 to train without."
        )
    workers = _checked(wanted, sum(place.most for place in found), clients)
    used = _first_of_each_machine(found)[:workers]
    most = -(-workers // len(used))  # on one GPU, as they are spread evenly
    for place in used:
        place.most = min(place.most, most)
        place.slots = min(place.most, slots) if slots else 1
        place.measured = bool(slots)
    return Slots(used, workers, folder)


def _size(share: Share) -> tuple[int, int]:
    """GPUs of one place, and clients that share it (0 where that is to be measured)."""
    if share == "auto":
        return 1, 0
    if share > 1 and share != int(share):
        raise ConfigError(f"--gpus-per-client is {share:g}: expected auto, a share up to 1, or a whole number of GPUs.")
    return (int(share), 1) if share > 1 else (1, int(1 / share + 1e-9))


def _places(machine: Machine, size: int, slots: int) -> list[Place]:
    """One place per GPU (or so many GPUs as a client takes), and the machine's cores spread over them."""
    count = min(machine.gpus // size, machine.cores)
    shares = spread(machine.cores, count) if count else []
    return [
        Place(
            f"GPU {number + 1} of {machine.gpus // size} on {machine.address}",
            most=min(cores, slots) if slots else cores,
            slots=1,
            gpus=size,
            machine=machine.address,
        )
        for number, cores in enumerate(shares)
    ]


def _first_of_each_machine(places: list[Place]) -> list[Place]:
    """The places in turn from every machine, so that few workers are spread over all of them."""
    turns: dict[str, int] = {}
    keyed = []
    for place in places:
        keyed.append((turns.setdefault(place.machine, 0), place))
        turns[place.machine] += 1
    return [place for _, place in sorted(keyed, key=lambda pair: pair[0])]


def _checked(wanted: int, room: int, clients: int) -> int:
    """How many workers there will be. More than there is room for would wait for ever."""
    if wanted > room:
        raise ConfigError(
            f"--workers is {wanted}, but there is room for {room} (cores, and GPUs where --gpus-per-client is given)."
        )
    return wanted or max(1, min(room, clients))
