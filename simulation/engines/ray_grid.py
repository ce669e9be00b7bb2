"""The ray engine: a Flower `Grid` whose nodes are clients of a simulation, run by a pool of Ray actors.

One actor a core or GPU slot. Arrays that several messages share go into Ray's object store once, the clients with most samples go
first, replies are handed on as they come; messages that take milliseconds travel several in a call. A worker that dies is replaced and its client tried once more; one whose client was given
up (round timeout) is killed and replaced, so that nothing it left behind can hold up the next round.
"""

from __future__ import annotations

import itertools
import logging
import math
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from flwr.app import Error, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from fl_config.errors import ConfigError
from fl_config.toml import Scalar
from simulation.engines.jobs import FIRST_NODE, Job, JobQueue
from simulation.engines.ray_start import RayStart, checked_workers, wanted_cores
from simulation.engines.wire import Answer, pack_arrays, unpack_arrays, unpack_content
from simulation.engines.worker import RUN_ID, Worker

log = logging.getLogger("fedloom")
LONGEST_WAIT = 0.2  # seconds that a pull waits for a reply before it looks whether it should
GRACE = 5.0  # seconds that a worker has to finish a client that was given up; it is only killed if that hangs
PATIENCE = 10.0  # seconds that a call of several messages may take, expected are BATCH_SECONDS
START_TIMEOUT = 300.0  # seconds in which the first of the workers must be ready
FAILED_STARTS = 3  # workers dying in a row before they have started
TRIES = 2  # of a client whose worker dies


@dataclass
class Call:
    """One call of a worker; without jobs it is the call that makes it ready."""

    ref: Any
    crew: Crew
    jobs: list[Job] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    given_up: float = math.inf  # when nobody waited for it any more


@dataclass(eq=False)
class Crew:
    """A worker and what it has been given, in order; the first is what it works on."""

    actor: Any
    calls: deque[Call] = field(default_factory=deque)
    pid: int = 0  # known once it is ready
    kinds: set[str] = field(default_factory=set)  # of messages that it has answered
    records: set[int] = field(default_factory=set)  # stored array records that its last call leaves it with


class RayGrid(Grid):
    """`client_app` is a module and a variable ("client_app:app"); `workers` 0 takes one a core, or what the GPUs allow.

    The pool starts in the background, so that the server can prepare itself meanwhile. `address` is that of a running Ray cluster,
    whose nodes need this project installed, the data sets fetched, and `folder` (and the run's state folder) on a shared disk.
    """

    waits = True  # a pull waits for replies by itself: `exchange` need not pause

    def __init__(
        self,
        client_app: str,
        clients: int,
        run_config: dict[str, Scalar],
        *,
        workers: int = 0,
        gpus_per_client: float = 0.0,
        address: str = "",
        folder: str = "",
    ) -> None:
        self._run = Run.create_empty(run_id=RUN_ID)
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = RUN_ID, SUPERLINK_NODE_ID, 1
        self.client_app, self.clients, self.run_config = client_app, clients, run_config
        self.workers, self.gpus_per_client, self.address = workers, gpus_per_client, address
        self._own_folder = None if folder else tempfile.TemporaryDirectory(prefix="fedloom-state-")
        self.folder = folder or str(Path(self._own_folder.name if self._own_folder else "") / "contexts")
        self.crews: list[Crew] = []
        self.jobs: dict[str, Job] = {}  # not answered yet, by message id
        self.waiting = JobQueue()
        self.calls: dict[Any, Call] = {}
        self.replies: dict[str, Message] = {}  # not pulled yet
        self.sizes: dict[int, int] = {}  # examples by client, from replies
        self._numbers = itertools.count()
        self._failed_starts = 0
        self._told: set[str] = set()
        self._own_ray: RayStart | None = None
        self._problem: BaseException | None = None
        self._up = threading.Event()
        self._starter = threading.Thread(target=self._start, name="fedloom-ray", daemon=True)
        self._starter.start()

    # Starting and ending

    def _start(self) -> None:
        try:
            import ray

            self.ray: Any = ray
            self._own_ray = RayStart.take(self.address, wanted_cores(self.workers))
            self.workers = checked_workers(self.workers, self.gpus_per_client, self.clients)
            options = {"num_cpus": 1, "num_gpus": self.gpus_per_client, "max_restarts": 0, "max_task_retries": 0}
            self.worker_class = ray.remote(Worker).options(**options)
            for _ in range(self.workers):
                self._hire()
        except BaseException as problem:
            self._problem = problem
        finally:
            self._up.set()

    def _hire(self) -> None:
        actor: Any = self.worker_class.remote(self.client_app, self.clients, self.run_config, self.folder, sys.path)
        self._hired = time.monotonic()
        crew = Crew(actor)
        self.crews.append(crew)
        self._call(crew, actor.prepare.remote(), [])

    def _started(self) -> None:
        self._up.wait()
        if self._problem is not None:
            raise self._problem

    def close(self) -> None:
        """End the workers, and Ray itself if this grid started it."""
        self._up.wait()
        for crew in self.crews:
            self.ray.kill(crew.actor)
        self.crews, self.calls, self.jobs, self.waiting = [], {}, {}, JobQueue()
        self._starter.join()
        if self._own_ray:
            self._own_ray.end()
            self._own_ray = None
        if self._own_folder:
            self._own_folder.cleanup()

    def __enter__(self) -> RayGrid:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Flower's interface

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return range(FIRST_NODE, FIRST_NODE + self.clients)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self._started()
        stored: dict[tuple[Any, ...], tuple[int, Any]] = {}
        pushed = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = identity = str(uuid4())
            shared, refs = {}, {}
            for name, record in message.content.array_records.items():
                # By the bytes in it: records made for one client each may still hold the same ones.
                key = tuple((inner, id(array.data)) for inner, array in record.items())
                if key not in stored:
                    stored[key] = next(self._numbers), self.ray.put(pack_arrays(record))
                number, ref = stored[key]
                shared[name], refs[number] = number, ref
            job = Job(message, shared, refs, 0)
            job.size = self.sizes.get(job.client, 0)
            self.jobs[identity] = job
            self.waiting.put(job)
            pushed.append(identity)
        self._deal()
        return pushed

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Replies that are there; waits a moment for one if none is."""
        wanted = message_ids if isinstance(message_ids, set) else set(message_ids)
        deadline = time.monotonic() + LONGEST_WAIT
        while True:
            found = [identity for identity in self.replies if identity in wanted]
            left = deadline - time.monotonic()
            if found or left <= 0 or wanted.isdisjoint(self.jobs):
                return [self.replies.pop(identity) for identity in found]
            self._collect(left)

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

    # Dealing work and collecting answers

    def _deal(self) -> None:
        """Work for every ready worker; a second call in advance while there is plenty, so that none waits for the driver."""
        # The reply of a call that ended just before its worker died may be lost with it, and the death is then charged to the
        # wrong client. So nobody is dealt in advance while one that was charged is tried again.
        suspected = any(job.deaths for job in self.jobs.values())
        for depth in (1,) if suspected else (1, 2):
            for crew in self.crews:
                if crew.pid and len(crew.calls) < depth and len(self.waiting) > (0 if depth == 1 else len(self.crews)):
                    # A worker's first message of a kind comes alone: it loads data.
                    jobs = self.waiting.take(crew.kinds, 1 + len(self.waiting) // (4 * len(self.crews)))
                    refs = {number: ref for job in jobs for number, ref in job.refs.items()}
                    # Every reference in a call costs the object store's time, also for what the worker has had before.
                    fresh = {number: ref for number, ref in refs.items() if number not in crew.records}
                    crew.records = set(refs)
                    tasks = [job.task() for job in jobs]
                    answers = crew.actor.answer.remote(tasks, list(refs), list(fresh), *fresh.values())
                    self._call(crew, answers, jobs)

    def _call(self, crew: Crew, ref: Any, jobs: list[Job]) -> None:
        call = Call(ref, crew, jobs)
        crew.calls.append(call)
        self.calls[ref] = call

    def _collect(self, timeout: float) -> None:
        """Wait until a call has ended, and take in all that have."""
        self._deal()
        ready, rest = self.ray.wait(list(self.calls), num_returns=1, timeout=timeout)
        if ready and rest:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for ref in ready:
            if ref in self.calls:  # not swept away with a dead worker meanwhile
                self._finish(self.calls[ref])
        self._check_pool()

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
            result = [Answer({}, {}, f"the reply was lost ({type(error).__name__})")] * len(call.jobs)
        del self.calls[call.ref]
        crew.calls.remove(call)
        if crew.calls:
            crew.calls[0].began = time.monotonic()
        if call.jobs:
            crew.kinds.add(call.jobs[0].kind)
        else:
            crew.pid, self._failed_starts = result, 0
        self._deal()  # before unpacking, so that the worker goes on meanwhile
        for job, answer in zip(call.jobs, result if call.jobs else [], strict=True):
            self._reply(job, answer)

    def _reply(self, job: Job, answer: Answer) -> None:
        if self.jobs.pop(job.id, None) is None:
            return  # given up before
        if answer.reason:
            if answer.place and answer.place not in self._told:
                self._told.add(answer.place)
                what = "client %d raised an error (others that meet it are not shown again):\n%s"
                log.warning(what, job.client, answer.traceback.rstrip())
            self._refuse(job, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, answer.reason)
            return
        for _, numbers in answer.numbers.values():
            if "num-examples" in numbers:
                self.sizes[job.client] = int(numbers["num-examples"])
        self.waiting.learn(job, answer)
        arrays = {name: unpack_arrays(packed) for name, packed in answer.arrays.items()}
        self.replies[job.id] = Message(unpack_content(answer.numbers, arrays), reply_to=job.message)

    def _refuse(self, job: Job, code: int, reason: str) -> None:
        self.jobs.pop(job.id, None)
        self.replies[job.id] = Message(Error(code=code, reason=reason), reply_to=job.message)

    # Faults

    def _check_pool(self) -> None:
        """A pool that cannot start is an error; a worker that hangs is replaced, and what it has to do dealt one by one."""
        now = time.monotonic()
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

    def _dismiss(self, crew: Crew) -> None:
        """End a worker, if it has not ended by itself, and hire another."""
        self.ray.kill(crew.actor)
        self.crews.remove(crew)
        for call in crew.calls:
            self.calls.pop(call.ref, None)
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
                self._reply(job, answer)
        if left and len(left[0].jobs) == 1:
            self._charge(left[0].jobs[0])
        self._take_back(left)

    def _charge(self, job: Job) -> None:
        job.deaths += 1
        if job.deaths < TRIES:
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
