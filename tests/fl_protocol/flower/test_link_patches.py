"""The server learns at once that a node took a message in a former life."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.server.superlink.linkstate.sql_linkstate import SqlLinkState
from flwr.supercore import sql_mixin
from flwr.supercore.constant import NOOP_FEDERATION_ID, TaskType
from flwr.superlink.config_loader import get_federation_manager, get_objectstore_linkstate_factories

from fl_protocol.flower import RESTARTED, ErrorCode, begin_run, set_message_id
from fl_protocol.flower.link_patches import patient, replies_and_losses


@pytest.fixture
def state(tmp_path: Path) -> Any:
    made = get_objectstore_linkstate_factories(str(tmp_path / "link.db"), get_federation_manager(is_simulation=False))
    return made[1].state()


def asked(state: Any, node: int, run: int) -> str:
    """A message for the node, which has not taken it yet."""
    begin_run(run)
    message = Message(RecordDict({"config": ConfigRecord({"lr": 0.1})}), node, MessageType.TRAIN)
    set_message_id(message, message.object_id)
    stored = state.store_message_ins(message)
    assert stored is not None
    return str(stored)


def test_a_message_of_a_former_life_is_lost(state: Any) -> None:
    node = state.create_node("@none", "none", b"key", 5.0)
    run = state.create_run("fab", "1", "hash", {}, NOOP_FEDERATION_ID, None, "@none", TaskType.SERVER_APP)
    assert state.activate_node(node, 5.0)
    taken = asked(state, node, run)
    replies = partial(replies_and_losses, state, SqlLinkState.get_message_res)
    assert replies({taken}, run) == [], "it was not taken yet"
    assert len(state.get_message_ins(node_id=node, limit=1)) == 1
    assert replies({taken}, run) == [], "the node is at work"
    state.deactivate_node(node)
    assert state.activate_node(node, 5.0)
    later = asked(state, node, run)
    (loss,) = replies({taken, later}, run)
    assert (loss.error.code, loss.error.reason) == (ErrorCode.NODE_UNAVAILABLE, RESTARTED)
    assert (loss.metadata.reply_to_message_id, loss.metadata.src_node_id) == (taken, SUPERLINK_NODE_ID)


def test_a_lock_of_the_database_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def patience(name: str) -> int:
        link = get_objectstore_linkstate_factories(str(tmp_path / name), get_federation_manager(is_simulation=False))[1]
        (found,) = link.state().query("PRAGMA busy_timeout")  # type: ignore[attr-defined]
        return int(found["timeout"])

    assert patience("flowers.db") == 5000
    flowers: Any = sql_mixin
    monkeypatch.setattr(flowers, "SQLITE_PRAGMAS", patient(flowers.SQLITE_PRAGMAS))
    assert patience("ours.db") == 60_000
