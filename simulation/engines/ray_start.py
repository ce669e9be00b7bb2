"""Starting Ray for a simulation, or joining a running cluster."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from fl_config.errors import ConfigError
from fl_config.options import options

OBJECT_STORE = 512 * 2**20  # bytes; taken only as far as messages in flight need it
# Replies up to this size travel with the answer of the call, which on small models takes a third less CPU than the object store.
INLINE = {"max_direct_call_object_size": 2 * 2**20, "task_rpc_inlined_bytes_limit": 64 * 2**20}
# How much freed memory the C library keeps. By default it returns the activations of a larger model to the system after every
# minibatch and gets them back page by page, which is a quarter of the time of cnn64. The driver's copies of replies fare likewise.
MMAP_THRESHOLD, TRIM_THRESHOLD = 32 * 2**20, 256 * 2**20
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(MMAP_THRESHOLD), "MALLOC_TRIM_THRESHOLD_": str(TRIM_THRESHOLD)}  # of workers
MALLOPT = {-3: MMAP_THRESHOLD, -1: TRIM_THRESHOLD}  # the same in this process, by the numbers of glibc's malloc.h
# Ray starts its workers with a niceness of 15, so that on a busy machine they hardly run at all. A run is as nice as its command.
NICENESS = {"worker_niceness": 0}
KNOCK = 10.0  # seconds in which the machine of a cluster's address must answer
# Processes of a Ray head that a simulation on one machine has no use for (autoscaler, dashboard, forwarding of logs). Starting each
# keeps one core busy for about a second, which on two cores is a good part of the time to the first round.
UNUSED = ("start_monitor", "start_api_server", "start_log_monitor")
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}

log = logging.getLogger("fedloom")


class RayStart:
    """Ray, which is started or joined in the background. The thread that does so stays: Ray's processes end when it does."""

    begun: ClassVar[RayStart | None] = None

    def __init__(self, address: str, cores: int) -> None:
        self.address, self.cores = address, cores
        self.taken = False  # by a grid, which then ends it
        self._problem: BaseException | None = None
        self._up, self._ending = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="fedloom-ray", daemon=True)
        RayStart.begun = self
        self._thread.start()

    @classmethod
    def take(cls, address: str, cores: int) -> RayStart | None:
        """Wait until Ray is there. Returns what the caller has to end, or None where somebody else started Ray."""
        import ray

        begun = cls.begun
        if begun and not begun.taken and (begun.address, begun.cores) != (address, cores):
            begun.end()
        if (cls.begun and cls.begun.taken) or (not cls.begun and ray.is_initialized()):
            return None
        own = cls.begun or cls(address, cores)
        own.taken = True
        try:
            own.wait()
        except BaseException:
            own.end()
            raise
        return own

    def _run(self) -> None:
        try:
            start_ray(self.address, self.cores)
        except BaseException as problem:
            self._problem = problem
        finally:
            self._up.set()
        self._ending.wait()

    def wait(self) -> None:
        """Return when Ray is there; raises what went wrong."""
        self._up.wait()
        if self._problem is not None:
            raise self._problem

    def end(self) -> None:
        import ray

        self._up.wait()
        ray.shutdown()
        self._ending.set()
        self._thread.join()
        RayStart.begun = None


def begin_early(values: Mapping[str, Any]) -> None:
    """Start Ray for a run with these options while the process still loads torch, as both take seconds; refuses wrong options."""
    config = options({} if values.get("resume") else values)
    if config.engine == "ray" and not values.get("resume"):
        RayStart(config.ray_address, wanted_cores(config.workers))


def end_unused() -> None:
    """End what was begun for a run that did not get as far as using it."""
    if RayStart.begun:
        RayStart.begun.end()


def found_running() -> bool:
    """Whether this process is in a Ray that others started or joined."""
    return RayStart.begun is None and "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def wanted_cores(workers: int) -> int:
    return workers if workers > 0 else os.cpu_count() or 1


def start_ray(address: str, cores: int) -> None:
    """Join the cluster at `address`, or start one here with so many cores."""
    for name, value in {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0", **MALLOC}.items():
        os.environ.setdefault(name, value)
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        for parameter, size in MALLOPT.items():
            mallopt(parameter, size)
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    if not address:
        start_local(cores)
        return
    try:
        _knock(address)
        ray.init(address=address, **QUIET)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"No Ray cluster answers at {address!r} ({error}): "
            "give --ray-address the address that `ray start --head` printed."
        ) from None


def start_local(cores: int, **more: Any) -> None:
    """Start Ray here, at the second try if need be.

    A process of Ray may die at its birth: two of those that one start forked were seen to end by signal 6 before they had opened their
    logs, and never again. Ray waits for them half a minute and gives up.
    """
    import ray

    given: dict[str, Any] = {
        "num_cpus": cores,
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE,
        "_system_config": {**INLINE, **NICENESS},
        **QUIET,
        **more,
    }
    with _lean():
        try:
            ray.init("local", **given)
        except Exception as problem:
            log.warning("Ray did not start (%s). Trying once more.", problem)
            ray.shutdown()
            ray.init("local", **given)


def _knock(address: str) -> None:
    """Raise within seconds if nobody is at HOST:PORT, where Ray would try for minutes; other forms of address are left to Ray."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()


@contextlib.contextmanager
def _lean() -> Iterator[None]:
    """Leave out the processes that are of no use here. Ray has no public switch for them; a version without these methods starts all."""
    from ray._private.node import Node

    kept = {name: getattr(Node, name) for name in UNUSED if hasattr(Node, name)}
    for name in kept:
        setattr(Node, name, lambda self, *_, **__: None)
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(Node, name, method)
