"""A worker of the ray engine as the driver sees it: the actor, and the calls that it has been given."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from simulation.engines.gpu.slots import Place
from simulation.engines.jobs import Job
from simulation.engines.transport.shared_memory import Range
from simulation.engines.transport.stored import looked_up
from simulation.engines.transport.wire import Found


@dataclass
class Call:
    """One call of a worker; without jobs it is the call that makes it ready."""

    ref: Any
    crew: Crew
    jobs: list[Job] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    given_up: float = math.inf  # when nobody waited for it any more
    room: Range | None = None  # of the shared memory, for its answers
    halvings: int = field(init=False)  # of its place's slots, before it

    def __post_init__(self) -> None:
        self.halvings = self.crew.place.halvings

    @cached_property
    def found(self) -> Found:
        """Looks up arrays of its answers, which lie in its room or where the arrays of its messages do."""
        ranges = {stored.number: stored.range for job in self.jobs for stored in job.stored.values()}
        return looked_up([self.room, *ranges.values()])


@dataclass(eq=False)
class Crew:
    """A worker and what it has been given, in order; the first is what it works on."""

    actor: Any
    place: Place
    calls: deque[Call] = field(default_factory=deque)
    pid: int = 0  # known once it is ready
    here: bool = False  # on this machine, with the memory that we share
    node: str = ""  # Ray's id of the node that it is on; known once it is ready
    kinds: set[str] = field(default_factory=set)  # of messages that it has answered
    records: set[int] = field(default_factory=set)  # stored array records that its last call leaves it with
