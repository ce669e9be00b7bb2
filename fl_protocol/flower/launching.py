"""The process that starts apps for a supernode or a superlink: each is a fork of one that has imported everything already.

Flower starts a new Python for every message and every run, which imports torch each time. Its own way of learning that an app was
killed is to miss its heartbeats for a minute; here the process that started it says so at once.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from pathlib import Path
from queue import Queue
from typing import Any

from flwr.app import Context
from flwr.common.constant import SubStatus
from flwr.proto.runtime_pb2 import PushTaskOutputRequest
from flwr.supercore import log
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.superexec.executor import ExecutionSpec, LaunchResult, SubprocessExecutor

from fl_config.errors import ConfigError, trouble
from fl_config.lifeline import die_with_creator, name_process
from fl_protocol.flower.careful_grid import CarefulGrid
from fl_protocol.flower.waiting import wait_for_parts

TASK_POLL = 0.1  # seconds between two looks for an app to start
TASK_POLL_VARIABLE = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"
RUNS = {
    TaskType.CLIENT_APP: "flwr.supernode.runtime.run_clientapp",
    TaskType.SERVER_APP: "flwr.superlink.runtime.run_serverapp",
}
LOST = 255  # the exit code of a fork whose forkserver is gone, so that nobody knows it
STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
KNOCK = 0.1  # seconds between two looks whether anybody listens


class ForkExecutor(SubprocessExecutor):
    """Starts apps of one kind as forks of a server process that has imported them, and tells of those that were killed."""

    def __init__(self, kind: TaskType, preloaded: Sequence[str]) -> None:
        self.kind = kind
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([*preloaded, RUNS[kind]])
        forkserver.ensure_running()  # imports while nothing waits for it
        self.running: list[tuple[Any, ExecutionSpec]] = []

    def get_eligible_capacity(self, supported_task_types: Any, **_: Any) -> tuple[Any, set[str]]:
        return {kind for kind in supported_task_types if kind == self.kind}, set()

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        run = answer_one if self.kind == TaskType.CLIENT_APP else serve_run
        self.running.append((self._fork(run, spec, os.getpid()), spec))
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        ended = [(process, spec) for process, spec in self.running if not process.is_alive()]
        self.running = [(process, spec) for process, spec in self.running if process.is_alive()]
        for process, spec in ended:
            if process.exitcode < 0 or process.exitcode == LOST:  # an app that ends in order has said so itself
                self._fork(tell_end, spec, died_of(process.exitcode))

    def _fork(self, run: Any, *words: Any) -> Any:
        process = self.context.Process(target=run, args=words)
        process.start()
        return process

    def close(self) -> None:
        for process, _ in self.running:
            process.terminate()


def died_of(code: int) -> str:
    """A sentence about an app that did not end by itself."""
    if code == LOST:
        return "Its process was lost."
    return f"Its process was killed by {signal.Signals(-code).name}."


def answer_one(spec: ExecutionSpec, parent: int) -> None:
    """One message: fetch it from the supernode, run the client's app, leave the reply there."""
    from flwr.supernode.runtime.run_clientapp import run_clientapp

    die_with_creator()
    name_process("fedloom-client")
    wait_for_parts()
    run_clientapp(spec.runtime_api_address, spec.token, spec.insecure, authority(spec), parent_pid=parent)


def serve_run(spec: ExecutionSpec, parent: int) -> None:
    """One run: the server's app, whose output is the run's log."""
    from flwr.supercore.logger import mirror_output_to_queue

    module = importlib.import_module(RUNS[TaskType.SERVER_APP])  # the package exports a function of that name
    die_with_creator()
    name_process("fedloom-server")
    output: Queue[str | None] = Queue()
    mirror_output_to_queue(output)
    setattr(module, "log", briefly)  # noqa: B010 (flwr does not export it)
    setattr(module, "HttpGrid", CarefulGrid)  # noqa: B010 (nor this)
    setattr(module, "run_", stopped_in_order(module.run_))  # noqa: B010 (nor this)
    module.run_serverapp(
        spec.runtime_api_address, output, spec.token, spec.insecure, authority(spec), parent_pid=parent
    )


def stopped_in_order(run: Callable[..., Context]) -> Callable[..., Context]:
    """The app, interrupted like any Python program when it is stopped, so that it closes its run folder.

    Flower ends the process from within the signal five seconds later, whatever the app does then.
    """

    def interrupt(number: int, _: object) -> None:
        for one in STOPPED_BY:
            signal.signal(one, signal.SIG_IGN)  # it is closing already
        raise KeyboardInterrupt

    def whole(**named: Any) -> Context:
        theirs = {number: signal.signal(number, interrupt) for number in STOPPED_BY}
        try:
            return run(**named)
        except KeyboardInterrupt:
            signal.signal(signal.SIGTERM, theirs[signal.SIGTERM])
            signal.raise_signal(signal.SIGTERM)  # what is left to say to the superlink is Flower's
            raise
        finally:
            for number, handler in theirs.items():
                signal.signal(number, handler)

    return whole


def briefly(level: int, message: str, *values: Any, exc_info: BaseException | None = None) -> None:
    """Flower's log with one sentence instead of a traceback, which goes to the server's own log alone."""
    if exc_info is None:
        log(level, message, *values)
        return
    print(f"fedloom: {sentence(exc_info)}", flush=True)
    if not isinstance(exc_info, ConfigError | OSError):
        os.write(2, "".join(traceback.format_exception(exc_info)).encode())


def sentence(error: BaseException) -> str:
    """Why a run failed."""
    if isinstance(error, ConfigError):
        return str(error)
    return trouble(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def tell_end(spec: ExecutionSpec, reason: str) -> None:
    """Say in the name of an app that was killed that it failed."""
    die_with_creator()
    client = RuntimeHttpClient.from_server_address(
        spec.runtime_api_address,
        spec.insecure,
        authority(spec),
        [RuntimeVersionHttpInterceptor(component_name="SuperExec"), RuntimeTokenHttpInterceptor(spec.token)],
    )
    client.PushTaskOutput(PushTaskOutputRequest(sub_status=SubStatus.FAILED, details=reason))
    client.close()


def authority(spec: ExecutionSpec) -> bytes | None:
    return None if spec.root_certificates_path is None else Path(spec.root_certificates_path).read_bytes()


def run_launcher(kind: str, address: str, secret: str, root_certificates: str | None, preloaded: Sequence[str]) -> None:
    """Be the process that starts apps ("client" or "server"), for whoever listens at this address and knows the secret."""
    from flwr.supercore.superexec import run_superexec as module

    executor = ForkExecutor(TaskType.CLIENT_APP if kind == "client" else TaskType.SERVER_APP, preloaded)
    setattr(module, "get_executor", lambda *_, **__: executor)  # noqa: B010 (flwr does not export it)
    os.environ[TASK_POLL_VARIABLE] = str(TASK_POLL)
    await_listener(address)
    module.run_superexec(
        address,
        insecure=root_certificates is None,
        root_certificates_path=root_certificates,
        superexec_auth_secret=bytes.fromhex(secret),
    )


def await_listener(address: str) -> None:
    """Return when somebody listens: Flower's client would next look after a second, then after two, four, ..."""
    host, _, port = address.rpartition(":")
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            return
        except OSError:
            time.sleep(KNOCK)


__all__ = ["ForkExecutor", "run_launcher"]
