"""A supernode that waits less: what is replaced inside Flower's supernode, and inside the process that starts its clients' apps.

A supernode that is killed and started again is refused for as long as its former life counts as connected, which is a minute, and
gives up. Here it is missed after 20 s, and tries until it is let in.

Three things make an idle round of the plain supernode slow, and none of them is an option there. It asks for work every 3 s; here
it asks several times per second while there is work, and once per second otherwise. It starts a new Python for every message, which
imports torch each time; here each message is answered by a fork of a process that has imported everything already. And it looks
for what was announced before it had arrived after seconds only (`fl_protocol.flower.waiting`).
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from multiprocessing import forkserver
from typing import Any

import grpc
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.supercore.superexec.executor import ExecutionSpec, LaunchResult, SubprocessExecutor

from fl_protocol.flower.waiting import wait_for_parts

# Seconds between two questions for work: a tenth of the time since the last work, within these limits.
SOONEST, LATEST, SLOWING = 0.1, 1.0, 0.1
FLOWERS_PAUSE = 3  # seconds that the plain supernode waits when there is no message
TASK_POLL = 0.1  # seconds between two looks for an app to start
TASK_POLL_VARIABLE = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"
HEARTBEAT = 10  # seconds between signs of life, the fewest that Flower allows; a node that misses two counts as gone
NOT_LET_IN = "2004"  # Flower's error code: this key is connected already, or nobody registered it
RETURN_PATIENCE = 30.0  # seconds to wait for a former life to end
RUNS_A_CLIENT = "flwr.supernode.runtime.run_clientapp"


class ForkExecutor(SubprocessExecutor):
    """Starts a client's app as a fork of a server process that has imported it."""

    def __init__(self, preloaded: Sequence[str]) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([*preloaded, RUNS_A_CLIENT])
        forkserver.ensure_running()  # imports while nothing waits for it
        self.running: list[Any] = []

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        process = self.context.Process(target=answer_one, args=(spec.runtime_api_address, spec.token, os.getpid()))
        process.start()
        self.running.append(process)
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        self.running = [process for process in self.running if process.is_alive()]

    def close(self) -> None:
        for process in self.running:
            process.terminate()


class Pauses:
    """Stands in for the `time` module in the supernode's loop, which only sleeps with it."""

    def __init__(self) -> None:
        self.worked = time.monotonic()

    def sleep(self, seconds: float) -> None:
        if seconds < FLOWERS_PAUSE:  # a client's app is at work
            self.worked = time.monotonic()
        time.sleep(min(seconds, max(SOONEST, min(LATEST, SLOWING * (time.monotonic() - self.worked)))))


def patient_stub(channel: Any) -> FleetStub:
    """Flower's connection to the server, which keeps trying for a while where this key may still count as connected."""
    stub = FleetStub(channel)
    activate = stub.ActivateNode

    def when_free(*arguments: Any, **options: Any) -> Any:
        deadline = time.monotonic() + (0 if "--max-retries" in sys.argv else RETURN_PATIENCE)
        told = False
        while True:
            try:
                return activate(*arguments, **options)
            except grpc.RpcError as refusal:
                if NOT_LET_IN not in str(refusal) or time.monotonic() >= deadline:
                    raise
            if not told:
                print(
                    "The server does not let this key in: it is not registered, or was connected just now. Trying again."
                )
                told = True
            time.sleep(1)

    setattr(stub, "ActivateNode", when_free)  # noqa: B010 (a field of the stub's own)
    return stub


def answer_one(address: str, token: str, parent: int) -> None:
    """One message: fetch it from the supernode, run the client's app, leave the reply there."""
    from flwr.supernode.runtime.run_clientapp import run_clientapp

    wait_for_parts()
    run_clientapp(address, token, insecure=True, parent_pid=parent)  # the supernode is on this host's loopback


def run_superexec(address: str, parent: int, preloaded: Sequence[str]) -> None:
    """Be the process that starts clients' apps, for the supernode at this address."""
    from flwr.supercore.superexec import run_superexec as module

    setattr(module, "get_executor", lambda *_, **__: ForkExecutor(preloaded))  # noqa: B010 (flwr does not export it)
    os.environ[TASK_POLL_VARIABLE] = str(TASK_POLL)
    module.run_superexec(address, insecure=True, parent_pid=parent)


def patch_supernode() -> None:
    from flwr.client.grpc_rere_client import connection
    from flwr.supercore import heartbeat
    from flwr.supernode import start_client_internal as loop

    for module, name, value in (
        (loop, "time", Pauses()),
        (connection, "FleetStub", patient_stub),
        (connection, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT),
        (heartbeat, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT),
    ):
        assert hasattr(module, name), f"flwr has no {module.__name__}.{name} any more"
        setattr(module, name, value)
    wait_for_parts()


def run_supernode(arguments: Sequence[str]) -> None:
    """Flower's own command with these arguments; it ends with the process."""
    from flwr.supernode.cli import flower_supernode

    sys.argv = ["flower-supernode", *arguments]
    flower_supernode()
