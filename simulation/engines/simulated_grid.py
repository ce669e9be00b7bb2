"""What the grids of our own engines have in common: the run, how a message is made, and a node for every client."""

from __future__ import annotations

from collections.abc import Iterable

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from fl_protocol.flower import Run, begin_run
from simulation.engines.jobs import Sizes
from simulation.engines.transport.wire import FIRST_NODE, RUN_ID


class SimulatedGrid(Grid):
    """A Flower `Grid` whose nodes are the clients 0, 1, ... of a simulation; how messages get there is each engine's own."""

    def __init__(self, clients: int) -> None:
        self._run = begin_run(RUN_ID)
        self.clients = clients

    def foretell(self, sizes: Sizes) -> None:
        """How many examples each client has, for engines that let the longest go first."""

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return range(FIRST_NODE, FIRST_NODE + self.clients)
