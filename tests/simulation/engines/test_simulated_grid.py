"""A grid of ours has one node per client, belongs to one run, and makes messages of that run."""

from __future__ import annotations

from flwr.app import MessageType, RecordDict
from flwr.clientapp import ClientApp

from fl_protocol.flower import Run
from simulation.engines.inline import InlineGrid
from simulation.engines.transport.wire import FIRST_NODE, RUN_ID


def test_nodes_run_and_messages() -> None:
    grid = InlineGrid(ClientApp(), 3, {})
    assert list(grid.get_node_ids()) == [FIRST_NODE, FIRST_NODE + 1, FIRST_NODE + 2]
    assert grid.run.run_id == RUN_ID
    message = grid.create_message(RecordDict(), MessageType.TRAIN, FIRST_NODE + 1, "7", ttl=5.0)
    told = message.metadata
    assert (told.dst_node_id, told.message_type, told.group_id, told.ttl) == (FIRST_NODE + 1, "train", "7", 5.0)
    other = Run.create_empty(run_id=9)
    grid.set_run(other)
    assert grid.run is other
