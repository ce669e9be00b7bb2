"""The server's half of a secure sum: it hands round public keys and adds up masked vectors (clients/secure/masking.py)."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, MessageType
from flwr.serverapp import Grid
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.codec import pack
from fl_protocol.messages import FEWEST, MaskedSum, Setup
from fl_protocol.replies import BadReply, MaskedPart
from fl_strategies.round.exchange import exchange

log = logging.getLogger("fedloom")
TRIES = 3


class NoSum(ConfigError):
    """A secure sum that too few clients took part in, or that failed each time."""


def secure_sum(
    grid: Grid,
    nodes: Sequence[int],
    of: str,
    part: str,
    setup: Setup,
    timeout: float,
    stop: threading.Event,
    arguments: Mapping[str, Any] | None = None,
    arrays: ArrayRecord | None = None,
) -> NDArray[np.int64]:
    """The sum over these nodes of the vector named `of`, which `part` needs; who does not answer is left out, if enough remain.

    `arguments` and the model `arrays` are what the clients compute the vector with; they go out with the keys, when all know of all.
    """
    taking_part = list(nodes)
    for _ in range(TRIES):
        session = secrets.token_hex(16)
        keys = _ask(grid, taking_part, MaskedSum(of, session, setup=setup), "public-key", timeout, stop)
        if len(keys) < FEWEST:
            raise NoSum(
                f"{part!r} needs a secure sum over {FEWEST} or more clients, but {len(keys)} can take part: start more clients, "
                f"or choose parameters of {part!r} that need no sum."
            )
        everybody = [key.hex() for key in keys.values()]
        known = MaskedSum(of, session, everybody, setup, dict(arguments or {}), arrays or ArrayRecord())
        parts = _ask(grid, list(keys), known, "masked", timeout, stop)
        if len(parts) == len(keys) and len({len(one) for one in parts.values()}) == 1:
            total = np.zeros(len(next(iter(parts.values()))) // 8, dtype="<u8")
            for one in parts.values():
                total = total + np.frombuffer(one, dtype="<u8")
            return total.astype(np.int64)
        taking_part = list(parts)
    raise NoSum(f"The secure sum that {part!r} needs failed {TRIES} times: clients went away during it.")


def _ask(
    grid: Grid, nodes: Sequence[int], what: MaskedSum, wanted: str, timeout: float, stop: threading.Event
) -> dict[int, bytes]:
    content = pack(what)
    messages = [Message(content, node, MessageType.QUERY, ttl=timeout) for node in nodes]
    answers: dict[int, bytes] = {}
    for reply in exchange(grid, messages, timeout, stop):
        try:
            answers[reply.metadata.src_node_id] = MaskedPart.read(reply, wanted)
        except BadReply as problem:
            log.warning("a client takes no part in the secure sum: %s", problem)
    return answers
