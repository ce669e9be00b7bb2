"""The server's half of a secure sum: it hands round public keys and adds up masked vectors (clients/secure_sum.py)."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid
from numpy.typing import NDArray

from clients.client import CONFIG, METHOD, SECURE_SUM
from clients.masking import FEWEST
from fl_config.errors import ConfigError
from fl_protocol.replies import first_line
from fl_strategies.round.exchange import exchange

log = logging.getLogger("fedloom")
TRIES = 3


def secure_sum(grid: Grid, nodes: Sequence[int], timeout: float, stop: threading.Event) -> NDArray[np.int64]:
    """The sum of the class counts of these nodes; those that do not answer are left out of it, if enough remain."""
    taking_part = list(nodes)
    for _ in range(TRIES):
        session = secrets.token_hex(16)
        keys = _ask(grid, taking_part, {"session": session}, "public-key", timeout, stop)
        if len(keys) < FEWEST:
            raise ConfigError(
                f"Disco's target 'global' needs a secure sum over {FEWEST} or more clients, but {len(keys)} can take "
                "part: start more clients, or give the target 'uniform' or the class probabilities."
            )
        known = {"session": session, "keys": [key.hex() for key in keys.values()]}
        parts = _ask(grid, list(keys), known, "masked", timeout, stop)
        if len(parts) == len(keys) and len({len(part) for part in parts.values()}) == 1:
            total = np.zeros(len(next(iter(parts.values()))) // 8, dtype="<u8")
            for part in parts.values():
                total = total + np.frombuffer(part, dtype="<u8")
            return total.astype(np.int64)
        taking_part = list(parts)
    raise ConfigError(f"The secure sum for Disco's target 'global' failed {TRIES} times: clients went away during it.")


def _ask(
    grid: Grid, nodes: Sequence[int], what: dict[str, Any], answer: str, timeout: float, stop: threading.Event
) -> dict[int, bytes]:
    config = ConfigRecord({METHOD: json.dumps({SECURE_SUM: what})})
    messages = [Message(RecordDict({CONFIG: config}), node, MessageType.QUERY, ttl=timeout) for node in nodes]
    answers: dict[int, bytes] = {}
    for reply in exchange(grid, messages, timeout, stop):
        node = reply.metadata.src_node_id
        value = None if reply.has_error() else reply.content.config_records[CONFIG].get(answer)
        if isinstance(value, bytes):
            answers[node] = value
        else:
            reason = first_line(reply.error.reason) if reply.has_error() else f"it sent no {answer}"
            log.warning("a client takes no part in the secure sum: %s", reason)
    return answers
