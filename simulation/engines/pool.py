"""The pool of the ray engine: who works on what, dealing jobs, taking in answers, and what to do when a worker dies or hangs.

The clients with most samples go first, and messages that take milliseconds travel several in a call. A worker that dies is replaced
and its client tried once more. One whose client was given up (round timeout) is killed and replaced, so that nothing that it left
behind can hold up the next round.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Error, Message, MessageType

from fl_config.errors import ConfigError
from fl_protocol.flower import ErrorCode
from simulation.engines.cluster.nodes import Nodes
from simulation.engines.cluster.travelling import HomeFolder
from simulation.engines.crew import Call, Crew
from simulation.engines.gpu.slots import Place, Slots
from simulation.engines.jobs import Job, JobQueue
from simulation.engines.transport.shared_memory import Range, SharedMemory
from simulation.engines.transport.wire import Answer, unpack_arrays, unpack_content

log = logging.getLogger("fedloom")
GRACE = 5.0  # seconds that a worker has to finish a client that was given up; it is only killed if that hangs
PATIENCE = 10.0  # seconds that a call of several messages may take, expected are BATCH_SECONDS
START_TIMEOUT = 300.0  # seconds in which the first of the workers must be ready
FAILED_STARTS = 3  # workers dying in a row before they have started
TRIES = 2  # of a client whose worker dies
WORTH_SHARING = 2**15  # bytes of answers; fewer come along with the call's result


class Pool:
    """Workers that answer jobs; `client_app` is named in complaints. Empty until `begin`, which needs Ray to be up."""

    def __init__(self, client_app: str) -> None:
        self.client_app = client_app
        self.crews: list[Crew] = []
        self.jobs: dict[str, Job] = {}  # not answered yet, by message id
        self.waiting = JobQueue()
        self.calls: dict[Any, Call] = {}
        self.replies: dict[str, Message] = {}  # not pulled yet
        self.memory: SharedMemory | None = None
        self._doomed: list[Range | None] = []  # a worker that is being killed may still write there: never used again
        self._failed_starts = 0
        self._told: set[str] = set()

    def begin(
        self,
        ray: Any,
        new_actor: Callable[[Place], Any],
        plan: Callable[[], Slots],
        nodes: Nodes,
        home: HomeFolder,
        memory: SharedMemory | None = None,
    ) -> None:
        """`plan` says where there is room for workers; it is asked again when `nodes` come or go."""
        self.ray, self._new_actor, self._plan, self.nodes, self.home = ray, new_actor, plan, nodes, home
        self.slots, self.memory = plan(), memory
        self._hire()

    def end(self) -> None:
        for crew in self.crews:
            self.ray.kill(crew.actor)
        self.crews, self.calls, self.jobs, self.waiting = [], {}, {}, JobQueue()

    def _hire(self) -> None:
        """Fill every slot that is free."""
        while (place := self.slots.take()) is not None:
            crew = Crew(self._new_actor(place), place)
            self._hired = time.monotonic()
            self.crews.append(crew)
            self._call(crew, crew.actor.prepare.remote(self.memory.path if self.memory else ""), [])

    # Dealing work and collecting answers

    def put(self, job: Job) -> None:
        """Take on a job; it waits until `deal`."""
        self.jobs[job.id] = job
        self.waiting.put(job)

    def deal(self) -> None:
        """Work for every ready worker; a second call in advance while there is plenty, so that none waits for the driver."""
        # The reply of a call that ended just before its worker died may be lost with it, and the death is then charged to the
        # wrong client. So nobody is dealt in advance while one that was charged is tried again.
        suspected = any(job.deaths for job in self.jobs.values())
        for depth in (1,) if suspected else (1, 2):
            left = len(self.crews)  # workers that have not been given a part of what waits
            for crew in self.crews:
                if crew.pid and len(crew.calls) < depth and len(self.waiting) > (0 if depth == 1 else len(self.crews)):
                    self._send(crew, self.waiting.take(crew.kinds, left))
                    left -= 1

    def _send(self, crew: Crew, jobs: list[Job]) -> None:
        needed = {stored.number: stored for job in jobs for stored in job.stored.values()}
        # Every reference in a call costs the object store's time, also for what the worker has had before.
        fresh = {number: stored for number, stored in needed.items() if number not in crew.records}
        crew.records = set(needed)
        expected = self.waiting.expected_bytes(jobs)
        room = self.memory.take(expected) if self.memory and crew.here and expected >= WORTH_SHARING else None
        where = (room.offset, room.offset + room.size) if room else (0, 0)
        records = [stored.for_worker(self.ray, crew.here) for stored in fresh.values()]
        tasks = [self.home.pack(job.task(), crew.node) for job in jobs]
        answers = crew.actor.answer.remote(tasks, list(needed), list(fresh), where, *records)
        self._call(crew, answers, jobs, room)

    def _call(self, crew: Crew, ref: Any, jobs: list[Job], room: Range | None = None) -> None:
        call = Call(ref, crew, jobs, room=room)
        crew.calls.append(call)
        self.calls[ref] = call

    def collect(self, timeout: float) -> None:
        """Wait until a call has ended, and take in all that have."""
        self.deal()
        ready, rest = self.ray.wait(list(self.calls), num_returns=1, timeout=timeout)
        if ready and rest:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for ref in ready:
            if ref in self.calls:  # not swept away with a dead worker meanwhile
                self._finish(self.calls[ref])
        self._check()

    def _finish(self, call: Call) -> None:
        from ray.exceptions import RayActorError, RayError, RayTaskError

        crew = call.crew
        try:
            result = self.ray.get(call.ref)
        except RayTaskError as error:
            if not call.jobs:
                name = self.client_app
                raise ConfigError(f"A worker could not load the client app {name!r}: {error.cause}.") from None
            result = [Answer({}, {}, f"the worker failed: {error.cause}")] * len(call.jobs)
        except RayActorError as error:
            self._bury(crew, error)
            return
        except RayError as error:
            if not call.jobs or self.nodes.has_left(crew.node):
                self._bury(crew, error)
                return
            result = [Answer({}, {}, f"the reply was lost ({type(error).__name__})")] * len(call.jobs)
        del self.calls[call.ref]
        crew.calls.remove(call)
        if crew.calls:
            crew.calls[0].began = time.monotonic()
        again = self._fit(call, result) if call.jobs and crew.place.gpus else None
        if call.jobs:
            crew.kinds.add(call.jobs[0].kind)
        else:
            (crew.pid, crew.node, crew.here), self._failed_starts = result, 0
        self.deal()  # before unpacking, so that the worker goes on meanwhile
        for job, answer in zip(call.jobs, result if call.jobs else [], strict=True):
            self._reply(job, answer, call, again)

    def _fit(self, call: Call, answers: Iterable[Answer]) -> bool:
        """As many workers as the GPU holds, now that these answers tell; whether clients that found no memory are tried again."""
        place, trained = call.crew.place, call.jobs[0].kind == MessageType.TRAIN
        # A client that failed for another reason took less than it would have.
        told = [each.gpu for each in answers if not each.reason or (each.gpu and each.gpu.exhausted)]
        again = self.slots.hear(place, told, trained, call.halvings)
        for crew in [each for each in self.crews if each.place is place and each is not call.crew][place.slots - 1 :]:
            self._dismiss(crew)
            self._take_back(crew.calls)
        self._hire()
        return again

    def _reply(self, job: Job, answer: Answer, call: Call, again: bool | None = None) -> None:
        if self.jobs.pop(job.id, None) is None:
            return  # given up before
        if not self.home.unpack(job.client, job.id, answer.souvenirs):
            self.put(job)  # its node had lost what it should have kept: again, with the driver's files
            return
        if again is not None and answer.gpu and answer.gpu.exhausted:
            if again:
                job.alone = True
                self.put(job)
            else:
                self._refuse(job, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, answer.gpu.complaint)
            return
        if answer.reason:
            if answer.place and answer.place not in self._told:
                self._told.add(answer.place)
                what = "client %d raised an error (others that meet it are not shown again):\n%s"
                log.warning(what, job.client, answer.traceback.rstrip())
            self._refuse(job, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, answer.reason)
            return
        self.waiting.learn(job, answer)
        arrays = {name: unpack_arrays(packed, call.found) for name, packed in answer.arrays.items()}
        self.replies[job.id] = Message(unpack_content(answer.numbers, arrays), reply_to=job.message)

    def _refuse(self, job: Job, code: int, reason: str) -> None:
        self.jobs.pop(job.id, None)
        self.replies[job.id] = Message(Error(code=code, reason=reason), reply_to=job.message)

    # Faults

    def abandon(self, message_ids: Iterable[str]) -> None:
        """Nobody waits for these any more: forget them; a worker that is still busy with one after a while is replaced."""
        for identity in message_ids:
            self.jobs.pop(identity, None)
            self.replies.pop(identity, None)
        self.waiting.keep(self.jobs.keys())
        for crew in self.crews:
            for call in crew.calls:
                if call.jobs and all(job.id not in self.jobs for job in call.jobs):
                    call.given_up = min(call.given_up, time.monotonic())
                    if call is not crew.calls[0]:
                        self.ray.cancel(call.ref)
                        crew.records = set()  # it may never see those of this call

    def _check(self) -> None:
        """A pool that cannot start is an error; a worker that hangs is replaced, and what it has to do dealt one by one."""
        now = time.monotonic()
        if self.nodes.changed():
            self._hire_anew()
        if not any(crew.pid for crew in self.crews) and now - self._hired > START_TIMEOUT:
            free = self.ray.available_resources()
            raise ConfigError(
                f"No worker could start within {START_TIMEOUT:g} s: the Ray cluster has {free.get('CPU', 0):g} free cores "
                f"and {free.get('GPU', 0):g} free GPUs, others may be using it."
            )
        for crew in list(self.crews):
            first = crew.calls[0] if crew.calls else None
            if first and (now - first.given_up > GRACE or (len(first.jobs) > 1 and now - first.began > PATIENCE)):
                self._dismiss(crew)
                self._take_back(crew.calls)

    def _hire_anew(self) -> None:
        """Nodes have come or gone: those who still wait for a place may have it elsewhere now, and there may be room for more."""
        for crew in [crew for crew in self.crews if not crew.pid]:
            self._end(crew)
        self.slots.become(self._plan())
        self._hire()

    def _end(self, crew: Crew) -> None:
        self.ray.kill(crew.actor)
        self.crews.remove(crew)
        crew.place.workers -= 1
        for call in crew.calls:
            self.calls.pop(call.ref, None)
            self._doomed.append(call.room)

    def _dismiss(self, crew: Crew) -> None:
        """End a worker, if it has not ended by itself, and hire another where its place has room."""
        self._end(crew)
        self._hire()

    def _bury(self, crew: Crew, error: BaseException) -> None:
        """A worker has died: take what it had finished, charge the client it was busy with, give the rest back."""
        from ray.exceptions import RayError

        self._dismiss(crew)
        if not crew.pid:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
                raise ConfigError(f"{FAILED_STARTS} workers in a row died as they started; the last: {why}.")
        left = list(crew.calls)
        while left:
            try:
                answers = self.ray.get(left[0].ref, timeout=1.0)
            except RayError:
                break
            call = left.pop(0)
            for job, answer in zip(call.jobs, answers if call.jobs else [], strict=True):
                self._reply(job, answer, call)
        if left and len(left[0].jobs) == 1:
            self._charge(left[0].jobs[0], crew.node)
        self._take_back(left)

    def _charge(self, job: Job, node: str) -> None:
        """The client may be the reason of the death, unless the whole node is gone."""
        job.deaths = [*(each for each in job.deaths if not self.nodes.has_left(each)), node]
        if len(job.deaths) < TRIES:
            log.warning("a worker process died while it ran client %d; it is tried once more on another", job.client)
        elif job.id in self.jobs:
            reason = f"the worker process died {TRIES} times while it ran this client"
            self._refuse(job, ErrorCode.CLIENT_APP_CRASHED, reason)

    def _take_back(self, calls: Iterable[Call]) -> None:
        """Deal these again, those of a batch one by one."""
        for call in calls:
            for job in call.jobs:
                job.alone = job.alone or len(call.jobs) > 1
                if job.id in self.jobs:
                    self.waiting.put(job)
