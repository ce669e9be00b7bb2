"""A ClientApp on GPUs that do not exist: it tells which it would see, finds no memory where a message says so, and reads made-up memory.

Every GPU has 16 GB; a worker takes 0.5 GB for itself and 6 GB for its tensors, so that two of them fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from flwr.app import ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fl_config import device
from simulation.engines.transport.wire import FIRST_NODE

GB = 2**30
app = ClientApp()
if "CUDA_VISIBLE_DEVICES" in os.environ:  # in a worker that Ray gave a GPU; the tests' own process has none
    device.device_memory = lambda _=None: device.DeviceMemory(int(9.5 * GB), 16 * GB, 6 * GB, 6 * GB)


@app.query()
@app.train()
def answer(message: Message, context: Context) -> Message:
    order = dict(message.content["config"])  # type: ignore[arg-type]
    number = int(context.node_config["partition-id"])
    if order.get("broken"):
        raise ValueError("told to fail")
    if order.get("too-large") == number and _first_time(str(order.get("once", ""))):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
    facts = {"num-examples": 10, "pid": os.getpid(), "gpu": int(os.environ.get("CUDA_VISIBLE_DEVICES", "-1"))}
    return Message(RecordDict({"metrics": MetricRecord(facts)}), reply_to=message)


def _first_time(mark: str) -> bool:
    if mark and Path(mark).exists():
        return False
    if mark:
        Path(mark).touch()
    return True


def orders(clients: Iterable[int], kind: str = MessageType.TRAIN, **order: Any) -> list[Message]:
    return [Message(RecordDict({"config": ConfigRecord(order)}), FIRST_NODE + number, kind) for number in clients]
