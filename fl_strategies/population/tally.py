"""One whole number for each client that has one, as arrays that hold only those clients: rounds, counts.

A population may have a million clients of whom a thousand ever trained, so memory and checkpoints grow with the latter. Numbered
clients lie in two arrays sorted by number, all others (clients with names) in a dict. Nothing is written into: an update replaces the
arrays, so that a copy, or the state of a part, may share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import ClientId, State

LARGEST = 2**63 - 1  # that a client's number may be to lie in an array


class Tally(MutableMapping[ClientId, int]):
    def __init__(self, given: Mapping[ClientId, int] | None = None) -> None:
        self._clients: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._values: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._others: dict[ClientId, int] = {}
        if given:
            self.update(given)

    # As arrays

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Tally:
        """What `write` has written under this name."""
        made = cls()
        made._clients, made._values = arrays[f"{name}/clients"], arrays[f"{name}/values"]
        made._others = {client: value for client, value in json.loads(arrays[f"{name}/others"].tobytes())}
        return made

    def write(self, name: str) -> State:
        others = json.dumps(list(self._others.items())).encode()
        return {
            f"{name}/clients": self._clients,
            f"{name}/values": self._values,
            f"{name}/others": np.frombuffer(others, dtype=np.uint8),
        }

    def copy(self) -> Tally:
        """At no cost: both go on with arrays of their own when they change."""
        made = Tally()
        made._clients, made._values, made._others = self._clients, self._values, self._others
        return made

    def largest(self) -> int:
        """The largest number of all, 0 where there is none."""
        return max(int(self._values.max(initial=0)), *self._others.values(), 0)

    # As a mapping

    def __getitem__(self, client: ClientId) -> int:
        if not _in_array(client):
            return self._others[client]
        place = int(self._clients.searchsorted(client))
        if place == len(self._clients) or self._clients[place] != client:
            raise KeyError(client)
        return int(self._values[place])

    def __setitem__(self, client: ClientId, value: int) -> None:
        self.update({client: value})

    def __delitem__(self, client: ClientId) -> None:
        self[client]
        if not _in_array(client):
            self._others = {other: value for other, value in self._others.items() if other != client}
            return
        kept = self._clients != client
        self._clients, self._values = self._clients[kept], self._values[kept]

    def __iter__(self) -> Iterator[ClientId]:
        yield from self._clients.tolist()
        yield from self._others

    def __len__(self) -> int:
        return len(self._clients) + len(self._others)

    def update(self, given: Any = (), /, **named: int) -> None:
        """All at once, since each update copies what is there."""
        fresh: dict[ClientId, int] = dict(given, **named)
        numbered = sorted(client for client in fresh if isinstance(client, int) and _in_array(client))
        if len(numbered) < len(fresh):
            self._others = self._others | {c: value for c, value in fresh.items() if not _in_array(c)}
        if not numbered:
            return
        clients = np.array(numbered, dtype=np.int64)
        values = np.array([fresh[client] for client in numbered], dtype=np.int32)
        places = self._clients.searchsorted(clients)
        known = places < len(self._clients)
        known[known] = self._clients[places[known]] == clients[known]
        kept = self._values.copy()
        kept[places[known]] = values[known]
        new = ~known
        if new.any():
            self._clients = np.insert(self._clients, places[new], clients[new])
            kept = np.insert(kept, places[new], values[new])
        self._values = kept

    def __repr__(self) -> str:
        return f"Tally({dict(self)})"


def _in_array(client: ClientId) -> bool:
    return isinstance(client, int) and -LARGEST <= client <= LARGEST
