"""A superlink that knows sooner who is gone: what is replaced inside Flower's superlink.

It refuses signs of life that come more often than every 10 s; here sites may send one every second. A node that is killed and
started again before it is missed has lost what it was asked, and nobody tells: the round would wait until its time is up. Here the
server learns that the node began a new life after it had taken the message. A connection is not used up by requests that
cannot be read (`fl_protocol.flower.readable`). And a database that is written to by somebody else is waited for longer than 5 s, after
which a busy host would fail the run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partialmethod
from typing import Any

from flwr.app import Error, Message
from flwr.app.message import make_message

from fl_protocol.flower.envelope import RESTARTED, ErrorCode, set_message_id
from fl_protocol.flower.readable import with_readable_requests

SHORTEST_HEARTBEAT = 1.0  # seconds
LONGEST_LOCK = 60_000  # milliseconds


def replies_and_losses(
    state: Any, find: Callable[..., list[Message]], message_ids: set[str], run_id: int
) -> list[Message]:
    """The replies to these messages, and an error for each that its node took in a former life."""
    found = find(state, set(message_ids), run_id)
    waiting = message_ids - {reply.metadata.reply_to_message_id for reply in found}
    return found + (losses(state, waiting) if waiting else [])


def losses(state: Any, waiting: set[str]) -> list[Message]:
    from flwr.server.superlink.linkstate import sql_linkstate, utils

    link: Any = sql_linkstate
    sent, node = link.MessageInsModel, link.NodeModel
    lost = (
        link.select(sent)
        .join(node, node.node_id == sent.dst_node_id)
        .where(sent.message_id.in_(waiting), sent.delivered_at != "", node.last_activated_at > sent.delivered_at)
    )
    made = []
    with state.session() as session:
        for row in [link._message_model_to_dict(model) for model in session.scalars(lost).all()]:
            link.convert_sint64_values_in_dict_to_uint64(row, ["run_id", "src_node_id", "dst_node_id"])
            asked = link.dict_to_message(row).metadata
            told = utils.create_message_error_unavailable_res_message(asked, "node_unavail")
            told = make_message(metadata=told.metadata, error=Error(ErrorCode.NODE_UNAVAILABLE, RESTARTED))
            set_message_id(told, told.object_id)
            state._store_generated_message(told)
            made.append(told)
    return made


def patient(pragmas: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """SQLite's settings with more patience for a lock."""
    return tuple((name, str(LONGEST_LOCK) if name == "busy_timeout" else value) for name, value in pragmas)


def patch_superlink(secret: str) -> None:
    """`secret` is what the process that starts apps has to know, in hexadecimal digits."""
    from flwr.server.superlink.fleet.message_handler import message_handler
    from flwr.server.superlink.linkstate.sql_linkstate import SqlLinkState
    from flwr.supercore import sql_mixin

    database: Any = sql_mixin
    command = importlib.import_module("flwr.superlink.cli.flower_superlink")
    parse = command._parse_superlink_lifespan_config

    def with_secret() -> Any:
        config = parse()
        config.superexec_auth_secret = bytes.fromhex(secret)
        return config

    for module, name, value in (
        (message_handler, "HEARTBEAT_MIN_INTERVAL", SHORTEST_HEARTBEAT),
        (command, "_parse_superlink_lifespan_config", with_secret),
        (command, "generic_create_grpc_server", with_readable_requests(command.generic_create_grpc_server)),
        (database, "SQLITE_PRAGMAS", patient(database.SQLITE_PRAGMAS)),
        (SqlLinkState, "get_message_res", partialmethod(replies_and_losses, SqlLinkState.get_message_res)),
    ):
        assert hasattr(module, name), f"flwr has no {module.__name__}.{name} any more"
        setattr(module, name, value)


def run_superlink(arguments: Sequence[str]) -> None:
    """Flower's own command with these arguments."""
    from flwr.superlink.cli import flower_superlink

    sys.argv = ["flower-superlink", *arguments]
    flower_superlink()
