"""What people call a node of Flower's: the one place that leads from a node's number to a name.

A client that has introduced itself is called by its own id. Before that, its node is called as its key was registered
(`fedloom deploy register`), which the server's grid knows; the nodes of a simulation have no such name and need none.
"""

from __future__ import annotations

from collections.abc import Mapping

from flwr.serverapp import Grid

from fl_protocol.types import ClientId


class Names:
    """`clients` are those that have introduced themselves, by node; it may grow."""

    def __init__(self, clients: Mapping[int, ClientId]) -> None:
        self.clients = clients
        self.registered: dict[int, str] = {}

    def learn(self, grid: Grid) -> None:
        """Ask under which names the present nodes were registered; Flower's basic grid would only repeat their numbers."""
        if type(grid).get_nodes is not Grid.get_nodes:
            self.registered |= {node.node_id: node.name for node in grid.get_nodes() if node.name}

    def of(self, node: int) -> str:
        if node in self.clients:
            return f"client {self.clients[node]}"
        return f"client {self.registered[node]}" if node in self.registered else "a client"

    def about(self, node: int, reason: str) -> str:
        """A reason that says whose it is, where it does not do so by itself."""
        name = self.of(node)
        return reason if name.removeprefix("client ") in reason or name == "a client" else f"{name}: {reason}"

    def claim(self, node: int, site: str) -> str | None:
        """What is wrong with a site's name for itself: a key speaks only for the site under whose name it was registered."""
        registered = self.registered.get(node)
        if registered is None or not site or site == registered:
            return None
        return f"the key of {registered} calls itself {site}: start that client without --name, or register its key as {site}"
