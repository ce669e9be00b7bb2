"""Messages that wait for a worker: the longest are dealt first, and quick ones several at a time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Message
from numpy.typing import NDArray

from simulation.engines.transport.shared_memory import LINE
from simulation.engines.transport.stored import Stored
from simulation.engines.transport.wire import FIRST_NODE, Answer, Task, pack_numbers

# How long a call of several messages should take, and what it may send back at most: fewer calls cost the engine less.
BATCH_SECONDS, BATCH_BYTES = 0.05, 64 * 2**20


Sizes = Sequence[int] | NDArray[np.int64]  # examples of the clients 0, 1, ...


@dataclass(eq=False)
class Job:
    """A message on its way, and the stored array records that it needs, by their names in it."""

    message: Message
    stored: dict[str, Stored]
    size: int = 0  # examples of its client, as far as they are known
    deaths: list[str] = field(default_factory=list)  # the nodes of workers that died while they ran it
    alone: bool = False  # it was in a batch that failed, and is tried by itself

    @property
    def id(self) -> str:
        return self.message.metadata.message_id

    @property
    def kind(self) -> str:
        return self.message.metadata.message_type

    @property
    def client(self) -> int:
        return self.message.metadata.dst_node_id - FIRST_NODE

    def task(self) -> Task:
        metadata = self.message.metadata
        numbers = pack_numbers(self.message.content)
        shared = {name: each.number for name, each in self.stored.items()}
        return Task(self.id, metadata.dst_node_id, self.client, self.kind, metadata.group_id, numbers, shared)


@dataclass
class Pace:
    """What one message of a kind costs, as the answers so far tell: seconds of work, and bytes to send back."""

    seconds: float
    bytes: int

    @property
    def batch(self) -> int:
        return int(min(BATCH_SECONDS / max(self.seconds, 1e-6), BATCH_BYTES / max(self.bytes, 1)))


@dataclass
class JobQueue:
    """Jobs by the size of their clients, and how quick each kind of message has been.

    `foretold` are the examples of all clients, where they are known before any reply.
    """

    heap: list[tuple[int, int, Job]] = field(default_factory=list)
    paces: dict[str, Pace] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)  # examples by client, from replies
    foretold: Sizes = ()
    order: Iterable[int] = field(default_factory=itertools.count)

    def __len__(self) -> int:
        return len(self.heap)

    def put(self, job: Job) -> None:
        foretold = self.foretold[job.client] if job.client < len(self.foretold) else 0
        job.size = self.sizes.get(job.client, int(foretold))
        heapq.heappush(self.heap, (-job.size, next(iter(self.order)), job))

    def take(self, known: Collection[str], workers: int) -> list[Job]:
        """The longest job, and the next ones with it where its kind is quick.

        Where a worker's whole share of what waits is quick, it is one call; else a call has a quarter of a share at most, so that
        whoever is done first takes from the others. A worker's first message of a kind comes alone (it is not `known`): it loads data.
        """
        share = -(-len(self.heap) // workers)
        first = heapq.heappop(self.heap)[2]
        jobs = [first]
        if not first.alone and first.kind in known and first.kind in self.paces:
            most = self.paces[first.kind].batch
            most = share if share <= most else min(most, 1 + share // 4)
            while len(jobs) < most and self.heap and self._fits(self.heap[0][2], first):
                jobs.append(heapq.heappop(self.heap)[2])
        return jobs

    @staticmethod
    def _fits(job: Job, first: Job) -> bool:
        return not job.alone and job.kind == first.kind

    def keep(self, ids: Collection[str]) -> None:
        """Forget all other jobs."""
        self.heap = [entry for entry in self.heap if entry[2].id in ids]
        heapq.heapify(self.heap)

    def learn(self, job: Job, answer: Answer) -> None:
        for _, numbers in answer.numbers.values():
            if "num-examples" in numbers:
                self.sizes[job.client] = int(numbers["num-examples"])
        known = self.paces.get(job.kind, Pace(answer.seconds, answer.nbytes))
        self.paces[job.kind] = Pace((known.seconds + answer.seconds) / 2, max(known.bytes, answer.nbytes))

    def expected_bytes(self, jobs: list[Job]) -> int:
        """What the answers will take, as far as that is known; a line of cache more for each, so that they may be aligned."""
        pace = self.paces.get(jobs[0].kind)
        return len(jobs) * (pace.bytes + LINE) if pace else 0
