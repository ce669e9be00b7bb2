"""What cannot be read is refused, and costs the connection nothing; the same server without this gets stuck."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from flwr.proto.fleet_pb2 import PullMessagesRequest
from flwr.proto.node_pb2 import Node

from fl_protocol.flower.readable import REFUSAL, ReadableOnly, with_readable_requests

STREAMS = 100  # the least that gRPC takes as a limit
RUBBISH, PROPER = b"\xff\xff\xff", PullMessagesRequest(node=Node(node_id=7)).SerializeToString()


@contextmanager
def serving(*interceptors: grpc.ServerInterceptor) -> Iterator[Any]:
    """A method of a server that answers with the node's number."""

    def answer(request: PullMessagesRequest, context: grpc.ServicerContext) -> bytes:
        return str(request.node.node_id).encode()

    methods = {"M": grpc.unary_unary_rpc_method_handler(answer, PullMessagesRequest.FromString)}
    options = [("grpc.max_concurrent_streams", STREAMS)]
    server = grpc.server(ThreadPoolExecutor(4), interceptors=interceptors, options=options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("S", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel.unary_unary("/S/M")
    finally:
        server.stop(None)


def sent(method: Any, frames: int) -> Counter[str]:
    """What became of so many frames of rubbish, and of a proper one after them."""
    came: Counter[str] = Counter()
    for frame in [RUBBISH] * frames + [PROPER]:
        try:
            came[method(frame, timeout=60).decode()] += 1
        except grpc.RpcError as error:
            came[f"{error.code().name}: {error.details()}"] += 1  # type: ignore[attr-defined]
    return came


def test_rubbish_is_refused_and_the_connection_goes_on() -> None:
    with serving(ReadableOnly()) as method:
        assert sent(method, 3 * STREAMS) == {f"INVALID_ARGUMENT: {REFUSAL}": 3 * STREAMS, "7": 1}


def test_a_handler_that_reads_nothing_is_left_alone() -> None:
    refusing = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    assert ReadableOnly().intercept_service(lambda details: refusing, None) is refusing
    assert ReadableOnly().intercept_service(lambda details: None, None) is None


def test_by_itself_grpc_still_needs_it(caplog: pytest.LogCaptureFixture) -> None:
    """When this fails, gRPC has learned to let go of such streams, and the interceptor is no longer needed."""
    caplog.set_level(logging.CRITICAL, "grpc")  # or it tells of every frame
    with serving() as method:
        came = sent(method, 2 * STREAMS)
    assert came["7"] == 0 and any(told.startswith("UNAVAILABLE") for told in came), came


def test_it_is_before_flowers_own_interceptors() -> None:
    given: list[Any] = []
    with_readable_requests(lambda *words, **named: given.append((words, named)) or "made")(
        "a", interceptors=["flowers"]
    )
    ((words, named),) = given
    assert (
        words == ("a",)
        and isinstance(named["interceptors"][0], ReadableOnly)
        and named["interceptors"][1:] == ["flowers"]
    )
