"""Flower's supernode with less waiting: `python -m deploy.supernode` takes the flags of `flower-supernode`.

A supernode that is killed and started again is refused for as long as its former life counts as connected, a minute, and gives up;
here it is missed after 20 s, and tries until it is let in.

Three things make an idle round of the plain supernode slow, and none is an option there. It asks for work every 3 s; here it asks a
few times a second while there is work, and every second otherwise. It starts a new Python for every message, which imports
torch each time; here each message is a fork of a process that has imported everything already. And what is announced before it has
arrived is looked for again after seconds (`fl_protocol.flower`). All this reaches into flwr 1.39, the only line that is supported: tests/deploy measures it.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing import forkserver
from typing import Any

import grpc
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.supercore.superexec.executor import LaunchResult, SubprocessExecutor
from flwr.supercore.superexec.executor.types import ExecutionSpec

from fl_protocol.flower import wait_for_parts

SOONEST, LATEST, SLOWING = 0.1, 1.0, 0.1  # pauses in seconds; a tenth of the time since the last work, within limits
FLOWERS_PAUSE = 3  # how long the plain supernode waits when there is no message
TASK_POLL = 0.1
HEARTBEAT = (
    10  # seconds between signs of life, the shortest that Flower allows; after two of them a node counts as gone
)
NOT_LET_IN = "2004"  # Flower's error code: this key is connected already, or nobody registered it
RETURN_PATIENCE = 30.0  # seconds to wait for a former life to end
PRELOADED = ["deploy.apps", "flwr.supernode.runtime.run_clientapp"]
SUPEREXEC = "--superexec"  # our own first argument: be the process that starts clients' apps


class ForkExecutor(SubprocessExecutor):
    """Starts a client's app as a fork of a server process that has imported it."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
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
    """Flower's connection to the server, which tries for a while where this key may still count as connected."""
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


def run_superexec(address: str, parent: int) -> None:
    from flwr.supercore.superexec import run_superexec as module

    setattr(module, "get_executor", lambda *_, **__: ForkExecutor())  # noqa: B010 (flwr does not export it)
    os.environ["FLWR_SUPEREXEC_TASK_POLL_INTERVAL"] = str(TASK_POLL)
    module.run_superexec(address, insecure=True, parent_pid=parent)


def run_supernode(arguments: list[str]) -> None:
    from flwr.client.grpc_rere_client import connection
    from flwr.supercore import heartbeat
    from flwr.supernode import start_client_internal as loop
    from flwr.supernode.cli import flower_supernode

    for module, name, value in (
        (loop, "time", Pauses()),
        (connection, "FleetStub", patient_stub),
        (connection, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT),
        (heartbeat, "HEARTBEAT_DEFAULT_INTERVAL", HEARTBEAT),
    ):
        assert hasattr(module, name), f"flwr has no {module.__name__}.{name} any more"
        setattr(module, name, value)
    wait_for_parts()
    port = arguments[arguments.index("--port") + 1]
    subprocess.Popen([sys.executable, "-m", "deploy.supernode", SUPEREXEC, f"127.0.0.1:{port}", str(os.getpid())])
    sys.argv = ["flower-supernode", *arguments, "--isolation", "process"]
    flower_supernode()


if __name__ == "__main__":
    if sys.argv[1:2] == [SUPEREXEC]:
        run_superexec(sys.argv[2], int(sys.argv[3]))
    else:
        run_supernode(sys.argv[1:])
