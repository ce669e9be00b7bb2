"""A supernode that waits less and does not get stuck: what is replaced inside Flower's supernode.

It asks for work every 3 s, in vain or not; here it asks several times per second while there is work, and once per second
otherwise. It looks for what was announced before it had arrived after seconds only (`fl_protocol.flower.waiting`).

A site that vanishes is missed after a minute, because signs of life come every 30 s and two may be missed; here the interval is
the site's to choose, down to one second. One that was killed and started again is refused for as long as its former life counts as
connected, and gives up; here it tries until it is let in. After a broken link it looks for the server every 20 s, and a request
that was under way then can hang for minutes; here it looks every few seconds, and the connection itself is watched. One unexpected
answer to a sign of life ends all further ones; here it does not. And a supernode whose app ended without an answer waits for it
forever; here the server is told that it failed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

import grpc
from flwr.app import Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.retry import exponential
from flwr.supernode.nodestate.in_memory_nodestate import InMemoryNodeState

from fl_protocol.flower.envelope import set_message_id
from fl_protocol.flower.waiting import wait_for_parts

# Seconds between two questions for work: a tenth of the time since the last work, within these limits.
SOONEST, LATEST, SLOWING = 0.1, 1.0, 0.1
FLOWERS_PAUSE = 3  # seconds that the plain supernode waits when there is no message
HEARTBEAT = 5.0  # seconds between signs of life that the server may count on; a node that misses two counts as gone
PATIENCE_OF_HEARTBEAT = 0.4  # share of those seconds that one sign of life may take
NOT_LET_IN = "2004"  # Flower's error code: this key is connected already, or nobody registered it
RETURN_PATIENCE = 60.0  # seconds to wait for a former life to end, or to be registered
LONGEST_RETRY = 5  # seconds between two attempts to reach the server
CHANNEL = (
    ("grpc.max_reconnect_backoff_ms", 1000 * LONGEST_RETRY),
    ("grpc.keepalive_time_ms", 10_000),  # of silence, after which the connection is tried
    ("grpc.keepalive_timeout_ms", 5_000),
)


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


class SteadyHeartbeat(HeartbeatSender):
    """Signs of life that go on after an answer that nobody expected."""

    def __init__(self, heartbeat_fn: Callable[[], bool]) -> None:
        def steady() -> bool:
            try:
                return heartbeat_fn()
            except (grpc.RpcError, RuntimeError) as problem:
                print(f"A sign of life was not accepted, the next one follows: {problem}", flush=True)
                return False

        super().__init__(steady)


def watched_channel(
    server_address: str,
    insecure: bool,
    root_certificates: bytes | None = None,
    max_message_length: int = -1,
    interceptors: Sequence[Any] | None = None,
) -> grpc.Channel:
    """Flower's channel to the server, with options that it has no way to take."""
    lengths = [(f"grpc.max_{way}_message_length", max_message_length) for way in ("send", "receive")]
    options = [*lengths, *CHANNEL]
    if insecure:
        channel = grpc.insecure_channel(server_address, options=options)
    else:
        channel = grpc.secure_channel(server_address, grpc.ssl_channel_credentials(root_certificates), options=options)
    return grpc.intercept_channel(channel, *(interceptors or ()))


def finish_and_answer(state: Any, finish: Callable[..., bool], task_id: int, sub_status: str, details: str) -> bool:
    """Finish a task; if it failed and left messages without an answer, its failure is the answer."""
    finished = finish(state, task_id, sub_status, details)
    if finished and sub_status == SubStatus.FAILED:
        for task in state.get_tasks(task_ids=[task_id]):
            answer_unanswered(state, {task.run_id}, Error(ErrorCode.CLIENT_APP_CRASHED, details))
    return finished


def answer_unanswered(state: Any, run_ids: set[int], error: Error) -> None:
    """Leave the error for every message of these runs that has no reply. Flower leaves one only where an app took the message."""
    with state.lock_msg_store:
        messages = [entry.message for entry in state.msg_store.values() if entry.message.metadata.run_id in run_ids]
        answered = {message.metadata.reply_to_message_id for message in messages}
        for message in messages:
            if message.metadata.reply_to_message_id or message.metadata.message_id in answered:
                continue
            reply = Message(error, reply_to=message)
            set_message_id(reply, reply.object_id)
            state._store_generated_message(reply)
            state.store_message(reply)


def patch_supernode(secret: str, heartbeat: float = HEARTBEAT) -> None:
    """`secret` is what the process that starts apps has to know, in hexadecimal digits."""
    from flwr.client.grpc_rere_client import connection
    from flwr.supercore import heartbeat as beats
    from flwr.supernode import start_client_internal as loop

    retries = importlib.import_module("flwr.supercore.retry.grpc_retry")
    command = importlib.import_module("flwr.supernode.cli.flower_supernode")
    parse = command._parse_supernode_lifespan_config

    def with_secret() -> Any:
        config = parse()
        config.superexec_auth_secret = bytes.fromhex(secret)
        return config

    limit = PATIENCE_OF_HEARTBEAT * heartbeat
    for module, name, value in (
        (loop, "time", Pauses()),
        (connection, "FleetStub", patient_stub),
        (connection, "HeartbeatSender", SteadyHeartbeat),
        (connection, "create_channel", watched_channel),
        (connection, "HEARTBEAT_DEFAULT_INTERVAL", heartbeat),
        (connection, "HEARTBEAT_CALL_TIMEOUT", limit),
        (beats, "HEARTBEAT_DEFAULT_INTERVAL", heartbeat),
        (beats, "HEARTBEAT_CALL_TIMEOUT", limit),
        (beats, "exponential", lambda max_delay: exponential(max_delay=min(max_delay, LONGEST_RETRY))),
        (retries, "MAX_RETRY_DELAY", LONGEST_RETRY),
        (command, "_parse_supernode_lifespan_config", with_secret),
        (InMemoryNodeState, "_store_error_replies", answer_unanswered),
        (InMemoryNodeState, "finish_task", partialmethod(finish_and_answer, InMemoryNodeState.finish_task)),
    ):
        assert hasattr(module, name), f"flwr has no {module.__name__}.{name} any more"
        setattr(module, name, value)
    wait_for_parts()


def run_supernode(arguments: Sequence[str]) -> None:
    """Flower's own command with these arguments."""
    from flwr.supernode.cli import flower_supernode

    sys.argv = ["flower-supernode", *arguments]
    flower_supernode()
