"""Who gets and gives which arrays, the client's half: one file per topology."""

from __future__ import annotations

from typing import Any

from clients.topologies.base import ClientTopology
from fl_config.parts import find, read_rooms


def build_topology(name: str, arguments: dict[str, Any]) -> ClientTopology:
    """The topology that a message names, with what the server's half says to this client."""
    read_rooms((__name__,))
    made: ClientTopology = find(ClientTopology.kind, name)(**arguments)
    return made
