"""The ray engine: a Flower `Grid` whose nodes are clients of a simulation, run by a pool of Ray actors.

There is one actor per core or GPU slot. Arrays lie in memory that the workers of this machine share, those that several messages share
once; replies are handed on as they come. Who works on what, and what happens when a worker dies, is in `pool.py`.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from flwr.app import ArrayRecord, Message

from fl_config.toml import Scalar
from fl_protocol.flower import set_message_id
from simulation.engines.cluster.nodes import Nodes
from simulation.engines.cluster.travelling import HomeFolder
from simulation.engines.gpu.reservations import Reservations, Share, machines, plan_slots
from simulation.engines.gpu.slots import Place, Slots
from simulation.engines.interrupts import NoInterruptLost
from simulation.engines.jobs import Job, Sizes
from simulation.engines.pool import Pool
from simulation.engines.ray_start import RayStart, wanted_cores
from simulation.engines.simulated_grid import SimulatedGrid
from simulation.engines.transport.shared_memory import SharedMemory
from simulation.engines.transport.stored import Stored, key_of
from simulation.engines.worker_start import actor_class, homes

LONGEST_WAIT = 0.2  # seconds that a pull waits for a reply before it looks whether it should


class RayGrid(SimulatedGrid):
    """`client_app` is a module and a variable ("client_app:app"); `workers` 0 takes one per core, or what the GPUs allow.

    The pool starts in the background, so that the server can prepare itself meanwhile. `address` is that of a running Ray cluster,
    whose nodes are compared with this machine first (`cluster/nodes.py`). `folder` is where a foreign app's states lie; beside it is
    what our own clients remember, and `entries` tells what of that is a client's own.
    """

    waits = True  # a pull waits for replies by itself: `exchange` need not pause

    def __init__(
        self,
        client_app: str,
        clients: int,
        run_config: dict[str, Scalar],
        *,
        workers: int = 0,
        gpus_per_client: Share = 0.0,
        address: str = "",
        folder: str = "",
        entries: Callable[[int], list[str]] | None = None,
    ) -> None:
        super().__init__(clients)
        self.client_app, self.run_config = client_app, run_config
        self.workers, self.gpus_per_client, self.address = workers, gpus_per_client, address
        self._own_folder = None if folder else tempfile.TemporaryDirectory(prefix="fedloom-state-")
        self.folder = folder or str(Path(self._own_folder.name if self._own_folder else "") / "contexts")
        self.entries = entries
        self.nodes: Nodes | None = None
        self.pool = Pool(client_app)
        self._reservations = Reservations()
        self.memory = SharedMemory.open()
        self._numbers = itertools.count()
        self._own_ray: RayStart | None = None
        self._problem: BaseException | None = None
        self._up, self._ending = threading.Event(), threading.Event()
        self._starter = threading.Thread(target=self._start, name="fedloom-ray", daemon=True)
        self._starter.start()

    # Starting and ending

    def _start(self) -> None:
        try:
            import ray

            self._own_ray = RayStart.take(self.address, wanted_cores(self.workers))
            state = Path(self.folder).parent
            nodes = self.nodes = Nodes(ray, self.run_config, state, ending=self._ending)
            nodes.survey(joined=bool(self.address))
            actors: Any = ray.remote(actor_class())
            found, here = homes(), str(Path.cwd())
            own = (self.client_app, self.clients, self.run_config, self.folder, sys.path, nodes.run)

            def plan() -> Slots:
                usable = machines(nodes.at_work())
                return plan_slots(usable, self.gpus_per_client, self.workers, self.clients, Path(self.folder))

            def new_actor(place: Place) -> Any:
                where = {**self._reservations.options(place), **({} if place.gpus else nodes.options())}
                return actors.options(max_restarts=0, max_task_retries=0, **where).remote(found, here, *own)

            self.pool.begin(ray, new_actor, plan, nodes, HomeFolder(state, self.entries, nodes.is_away), self.memory)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._up.set()

    def started(self) -> None:
        """Wait until there is a pool, whose workers may still be on their way; raises what went wrong."""
        self._up.wait()
        if self._problem is not None:
            raise self._problem

    def close(self) -> None:
        """End the workers, and Ray itself if this grid started it."""
        self._ending.set()
        self._up.wait()
        self.pool.end()
        if self.nodes:
            self.nodes.tidy()
            self.nodes = None
        self._reservations.release()
        self._starter.join()
        if self._own_ray:
            self._own_ray.end()
            self._own_ray = None
        if self.memory:
            self.memory.close()
            self.memory = None
        if self._own_folder:
            self._own_folder.cleanup()

    def foretell(self, sizes: Sizes) -> None:
        self.pool.waiting.foretold = sizes

    def __enter__(self) -> RayGrid:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Flower's interface

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self.started()
        with NoInterruptLost():
            pushed = self._put(messages)
            self.pool.deal()
            return pushed

    def _put(self, messages: Iterable[Message]) -> list[str]:
        known: dict[tuple[Any, ...], Stored] = {}
        pushed = []
        for message in messages:
            set_message_id(message, str(uuid4()))
            needed = {}
            for name, record in message.content.items():
                if isinstance(record, ArrayRecord):
                    key = key_of(record)
                    if key not in known:
                        known[key] = Stored(next(self._numbers), record, self.memory)
                    needed[name] = known[key]
            self.pool.put(Job(message, needed))
            pushed.append(message.metadata.message_id)
        return pushed

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Replies that are there; waits a moment for one if none is."""
        wanted = message_ids if isinstance(message_ids, set) else set(message_ids)
        deadline = time.monotonic() + LONGEST_WAIT
        replies = self.pool.replies
        with NoInterruptLost():
            while True:
                found = [identity for identity in replies if identity in wanted]
                left = deadline - time.monotonic()
                if found or left <= 0 or wanted.isdisjoint(self.pool.jobs):
                    return [replies.pop(identity) for identity in found]
                self.pool.collect(left)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        missing = set(self.push_messages(messages))
        deadline = None if timeout is None else time.monotonic() + timeout
        replies: list[Message] = []
        while missing and (deadline is None or time.monotonic() < deadline):
            arrived = list(self.pull_messages(missing))
            missing -= {reply.metadata.reply_to_message_id for reply in arrived}
            replies += arrived
        self.abandon(missing)
        return replies

    def abandon(self, message_ids: Iterable[str]) -> None:
        """Nobody waits for these any more."""
        self.pool.abandon(message_ids)
