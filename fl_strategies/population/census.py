"""What a simulation knows of its own clients without asking them. A deployment has none of this: there, everybody is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import ClientId

Asks = Mapping[str, dict[str, Any]]  # questions by name, with their arguments


class OnlyTheClientKnows(Exception):
    """A question that cannot be answered from the partition alone."""


@dataclass(frozen=True)
class Census:
    """Client number k is called ids[k] and is at the node first_node + k."""

    ids: Sequence[ClientId]
    first_node: int
    sizes: NDArray[np.int64]  # how many examples each trains on
    answer: Callable[[int, str, dict[str, Any]], float]  # (k, question, arguments); raises OnlyTheClientKnows

    @property
    def nodes(self) -> range:
        return range(self.first_node, self.first_node + len(self.ids))

    def numbers(self, k: int, asks: Asks) -> dict[str, float]:
        """What client number k would answer."""
        return {name: self.answer(k, name, arguments) for name, arguments in asks.items()}


class Foretold(Mapping[ClientId, Mapping[str, float]]):
    """Everyone's answers, each computed when it is first looked up: a round needs those of its cohort only."""

    def __init__(self, census: Census, asks: Asks, nodes: Mapping[ClientId, int]) -> None:
        self.census, self.asks, self.nodes = census, asks, nodes
        self._known: dict[ClientId, Mapping[str, float]] = {}

    def __getitem__(self, client: ClientId) -> Mapping[str, float]:
        if client not in self._known:
            self._known[client] = self.census.numbers(self.nodes[client] - self.census.first_node, self.asks)
        return self._known[client]

    def __contains__(self, client: object) -> bool:
        return client in self.nodes

    def __iter__(self) -> Iterator[ClientId]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)
