"""Requests to the open port that cannot be read are refused in order.

gRPC refuses them too, but never lets go of their streams: after a thousand of them, Flower's limit, every further request on that
connection is turned away, and each keeps some kilobytes for as long as the connection lasts. It reads a request before anybody
is asked who sent it, so that this needs no key. Here what cannot be read goes to a handler that refuses it, as any other request does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

UNREADABLE = object()  # in place of a request; None would mean to gRPC what an exception means
REFUSAL = "The request cannot be read."


class ReadableOnly(grpc.ServerInterceptor):  # type: ignore[misc]
    """Must be the first interceptor, so that no other sees what is no request."""

    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None or handler.request_deserializer is None:
            return handler  # nothing is read: there is no such method, or somebody without a key is being refused
        read, answer = handler.request_deserializer, handler.unary_unary

        def read_if_possible(frame: bytes) -> Any:
            try:
                return read(frame)
            except DecodeError:
                return UNREADABLE

        def answer_if_read(request: Any, context: grpc.ServicerContext) -> Any:
            if request is UNREADABLE:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, REFUSAL)
            return answer(request, context)

        return grpc.unary_unary_rpc_method_handler(answer_if_read, read_if_possible, handler.response_serializer)


def with_readable_requests(create: Callable[..., grpc.Server]) -> Callable[..., grpc.Server]:
    """Flower's function that creates a gRPC server, with this interceptor before its own."""

    def creating(*words: Any, interceptors: Any = None, **named: Any) -> grpc.Server:
        return create(*words, interceptors=[ReadableOnly(), *(interceptors or ())], **named)

    return creating
