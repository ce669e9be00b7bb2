"""One worker of the ray engine: a process that answers messages with the ClientApp, one client at a time.

It imports the app by name and builds each client's context from its partition number, so that only the message travels. What a
foreign app keeps in `context.state` lies in a folder, as do the files of our own clients beside it. They travel only to nodes that do
not see the driver's folder (`cluster/travelling.py`).
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import ray
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from numpy.typing import NDArray

from fl_config.toml import Scalar
from fl_protocol.code import trust
from fl_protocol.flower import from_bytes, set_message_id, speak_for, to_bytes
from fl_protocol.outgoing import lending
from simulation.engines.cluster.travelling import CONTEXTS, AwayFolder, LostLuggage, Souvenirs
from simulation.engines.gpu.gpu_memory import reading
from simulation.engines.transport.shared_memory import Mapping, attach
from simulation.engines.transport.wire import (
    RUN_ID,
    Answer,
    PackedArrays,
    Room,
    Task,
    pack_arrays,
    pack_numbers,
    unpack_arrays,
    unpack_content,
)

# A client app with this attribute keeps no array of a message beyond its reply: the memory in which they lie is used again.
READS_IN_PLACE = "reads_in_place"


def _offsets(packed: PackedArrays) -> set[int]:
    return {array.content for array in packed.values() if isinstance(array.content, int)}


class ContextFiles:
    """Client states of a foreign app on disk, one file per client, written only when the state changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used = False  # whether there is any such file; most apps keep none

    def look(self) -> None:
        self.used = self.used or self.folder.exists()

    def _file(self, partition: int) -> Path:
        return self.folder / f"{partition}.state"

    def load(self, partition: int) -> bytes:
        file = self._file(partition) if self.used else None
        return file.read_bytes() if file and file.exists() else b""

    def save(self, partition: int, before: bytes, state: RecordDict) -> None:
        if not before and not state:
            return
        after = to_bytes(state)
        if after != before:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.used = True
            draft = self.folder / f"{partition}.draft-{os.getpid()}"
            draft.write_bytes(after)
            draft.replace(self._file(partition))


class Worker:
    """What the actor does (`worker_start.py` starts it). `app` is a module and a variable, such as "client_app:app"."""

    def __init__(
        self, app: str, clients: int, run_config: dict[str, Scalar], folder: str, path: list[str], run: str
    ) -> None:
        sys.path += [entry for entry in path if entry not in sys.path]  # the app is found wherever the driver finds it
        trust()  # it belongs to a simulation, wherever it runs
        self.name, self.clients, self.run_config = app, clients, run_config
        self.states, self.run = ContextFiles(Path(folder)), run
        self.records: dict[int, ArrayRecord] = {}  # of the last call, by number
        self.lying: dict[int, set[int]] = {}  # where the arrays of each lie in the shared memory
        self.memory: Mapping | None = None

    def prepare(self, memory: str) -> tuple[int, str, bool]:
        """Import the app, which takes seconds; returns the process id, Ray's id of the node, and whether the driver's memory is here."""
        self.memory = attach(memory)
        node = ray.get_runtime_context().get_node_id()
        self.away = AwayFolder(self.run, node)
        module, _, variable = self.name.partition(":")
        self.app: ClientApp = getattr(importlib.import_module(module), variable)
        speak_for(RUN_ID)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
        gc.freeze()  # what was imported stays: looking through it again and again took longer than many a client
        return os.getpid(), node, self.memory is not None

    def answer(
        self, tasks: list[Task], shared: list[int], fresh: list[int], where: tuple[int, int], *records: PackedArrays
    ) -> list[Answer]:
        """Answer the tasks in order. They need the array records numbered in `shared`.

        `records` are those numbered in `fresh`; the others are still here from the call before. Each is unpacked once for all
        clients. `where` is the part of the shared memory that the answers' arrays may be written to.
        """
        new = {number: unpack_arrays(packed, self._lying) for number, packed in zip(fresh, records, strict=True)}
        self.lying |= {number: _offsets(packed) for number, packed in zip(fresh, records, strict=True)}
        self.records = {number: new[number] if number in new else self.records[number] for number in shared}
        self.lying = {number: self.lying[number] for number in shared}
        self.states.look()
        room = Room(self.memory, *where, lying=set().union(*self.lying.values()))
        return [self._answer(task, room) for task in tasks]

    def _lying(self, offset: int, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        assert self.memory is not None, "the driver sends offsets only to workers that share its memory"
        values = self.memory.array(offset, dtype, shape)
        return values if getattr(self.app, READS_IN_PLACE, False) else values.copy()

    def _answer(self, task: Task, room: Room) -> Answer:
        began = time.perf_counter()
        try:
            with lending(room.lend):
                content = self._call(task)
            records = {name: each for name, each in content.items() if isinstance(each, ArrayRecord)}
            arrays = {name: pack_arrays(record, room, look=True) for name, record in records.items()}
            room.settle(arrays.values())
            souvenirs = self.away.leave(task.partition, task.message_id) if task.luggage else None
            seconds = time.perf_counter() - began
            return Answer(pack_numbers(content), arrays, seconds=seconds, souvenirs=souvenirs, gpu=reading())
        except LostLuggage as error:
            return Answer({}, {}, str(error), souvenirs=Souvenirs(self.away.node, lost=True))
        except (Exception, SystemExit) as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {last.filename}:{last.lineno}"
            told = traceback.format_exc()
            return Answer({}, {}, f"{type(error).__name__}: {error}", place, told, gpu=reading(error))
        finally:
            room.settle(())  # what was lent to a client that failed

    def _call(self, task: Task) -> RecordDict:
        states, run_config = self.states, dict(self.run_config)
        if task.luggage:
            self.away.arrive(task.partition, task.luggage)
            states = ContextFiles(self.away.own / CONTEXTS)
            states.look()
            if "state-folder" in run_config:
                run_config["state-folder"] = str(self.away.own)
        before = states.load(task.partition)
        state = from_bytes(before) if before else RecordDict()
        node_config: dict[str, Any] = {"partition-id": task.partition, "num-partitions": self.clients}
        context = Context(RUN_ID, task.node, node_config, state, run_config)
        content = unpack_content(task.numbers, {name: self.records[number] for name, number in task.shared.items()})
        message = Message(content, task.node, task.kind, group_id=task.group)
        set_message_id(message, task.message_id)
        reply = self.app(message, context)
        if reply.has_error():
            raise RuntimeError(reply.error.reason)
        states.save(task.partition, before, context.state)
        return reply.content
