"""How many workers there are, and where: as many on each GPU as its memory holds, or one per core where clients use no GPU.

Every GPU starts with one worker. What its first client takes says how many more fit, and they are hired then. Where the memory does
not suffice after all, the GPU's slots are halved and its clients tried again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fl_config.files import write_atomically
from simulation.engines.gpu.gpu_memory import Reading, gigabytes

log = logging.getLogger("fedloom")
USABLE = 0.9  # of the memory; the rest is for clients that take more than the first did
KEPT = (
    "gpu.json"  # in the folder of the run's states: what a client takes, so that a resumed run need not find out again
)


@dataclass(eq=False)
class Place:
    """Where workers run: a GPU (or several, where one client takes several), or all cores."""

    name: str
    most: int  # workers that there are cores for
    slots: int  # workers that it takes now
    measured: bool = True  # whether `slots` is more than a beginning
    gpus: int = 0
    machine: str = ""  # on which these GPUs are
    workers: int = 0
    halvings: int = 0
    room: int = 0  # usable bytes, once they are known


@dataclass
class Slots:
    """All places, and the workers in all of them at most."""

    places: list[Place]
    most: int
    folder: Path | None = None
    footprint: int = field(init=False, default=0)  # bytes that a worker takes of a GPU, as far as it is known

    def __post_init__(self) -> None:
        if self.folder and (self.folder / KEPT).exists():
            self.footprint = int(json.loads((self.folder / KEPT).read_text(encoding="utf-8"))["footprint"])

    def take(self) -> Place | None:
        """A place for one more worker, among those that have room the one with fewest; None where no place has."""
        free = [place for place in self.places if place.workers < place.slots]
        if not free or sum(place.workers for place in self.places) >= self.most:
            return None
        chosen = min(free, key=lambda place: place.workers)
        chosen.workers += 1
        return chosen

    def become(self, other: Slots) -> None:
        """Machines have come or gone: go on with the places of `other`, keeping what is known of those that are still there."""
        known = {place.name: place for place in self.places}
        self.places, self.most = [known.get(place.name, place) for place in other.places], other.most
        for place, wanted in zip(self.places, other.places, strict=True):
            place.most = wanted.most
            if not place.gpus:
                place.slots = wanted.slots

    def hear(self, place: Place, told: Sequence[Reading | None], trained: bool, halvings: int) -> bool:
        """Take in what the answers of one call tell; returns whether clients that found no memory should be tried again.

        `halvings` is how many there had been when the call was made: what a worker met when there were more workers beside it
        says nothing of how it is now.
        """
        if any(each is not None and each.exhausted for each in told):
            if halvings == place.halvings:
                if place.slots == 1:
                    return False
                self._halve(place)
        elif not place.measured and told:
            self._measure(place, told[-1], trained)
        return True

    def _measure(self, place: Place, last: Reading | None, trained: bool) -> None:
        if last is None:
            if trained:  # without a GPU, as torch was built for none: memory sets no limit
                place.slots, place.measured = place.most, True
            return
        if not trained and not self.footprint:
            return
        self._keep(max(self.footprint, last.footprint))
        place.room = int(USABLE * last.obtainable)
        place.slots, place.measured = fitting(place.room, self.footprint, place.most), True
        what = "%s: room for %d workers (a client takes %s of %s)"
        log.info(what, place.name, place.slots, gigabytes(self.footprint), gigabytes(last.total))

    def _halve(self, place: Place) -> None:
        place.slots, place.measured = max(1, place.slots // 2), True
        place.halvings += 1
        if place.room:
            self._keep(max(self.footprint, place.room // place.slots))
        what = "%s: out of memory with %d workers; it goes on with %d"
        log.warning(what, place.name, place.workers, place.slots)

    def _keep(self, footprint: int) -> None:
        if self.folder and footprint != self.footprint:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / KEPT, json.dumps({"footprint": footprint}).encode())
        self.footprint = footprint


def fitting(room: int, footprint: int, most: int) -> int:
    """How many workers of that footprint have room; one is always tried."""
    return max(1, min(most, room // max(footprint, 1)))


def spread(count: int, over: int) -> list[int]:
    """So many things in so many heaps, as evenly as they go."""
    return [count // over + (number < count % over) for number in range(over)]
