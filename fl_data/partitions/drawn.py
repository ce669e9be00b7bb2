"""`drawn:SIZE:BETA`: client i has SIZE samples with a class mix ~ Dir(BETA) of its own, as a function of (seed, i) alone.

Nobody holds a list of all clients: a part is computed when it is asked for, in well under a millisecond, so that a million
clients cost no more than ten until they train. Clients draw from the same data and may share samples; within a client
no sample occurs twice. Client i is the same client however many others there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_data.partitions.schemes import Argument, Parts, Request, scheme


@scheme(
    "drawn:SIZE:BETA",
    "each client draws SIZE samples, which others may draw too, with a Dirichlet(BETA) class mix; for very many clients",
    Argument("SIZE", at_least=1, whole=True),
    Argument("BETA"),
    example="drawn:50:0.3",
    repair=False,
)
def divide(ask: Request) -> Parts:
    size = int(ask.values[0])
    if size < ask.least:
        raise ConfigError(
            f"{ask.what} gives clients {size} samples, but --min-samples is {ask.least}; use a larger SIZE."
        )
    if size > len(ask.labels):
        raise ConfigError(f"{ask.what} wants {size:,} samples for each client, but there are {len(ask.labels):,}.")
    pools = [ask.indices[ask.labels == label] for label in range(ask.classes)]
    return Drawn(pools, ask.clients, size, ask.values[1], ask.seed)


class Drawn(Sequence[np.ndarray]):
    """The parts of `drawn:`, computed one by one."""

    def __init__(self, pools: list[np.ndarray], clients: int, size: int, beta: float, seed: int) -> None:
        self.clients, self.size, self.beta, self.seed = clients, size, beta, seed
        self._pools = pools
        self._have = np.array([len(pool) for pool in pools], dtype=np.int64)

    def __len__(self) -> int:
        return self.clients

    @overload
    def __getitem__(self, client: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, client: slice) -> list[np.ndarray]: ...
    def __getitem__(self, client: int | slice) -> np.ndarray | list[np.ndarray]:
        if isinstance(client, slice):
            return [self[number] for number in range(*client.indices(self.clients))]
        counts, generator = self._counts(client)
        pieces = [
            pool[generator.choice(len(pool), int(count), replace=False, shuffle=False)]
            for pool, count in zip(self._pools, counts, strict=True)
            if count
        ]
        return np.sort(np.concatenate(pieces))

    def sizes(self) -> np.ndarray:
        """The number of samples of every client, without looking at any of them."""
        return np.full(self.clients, self.size, dtype=np.int64)

    def counts(self, client: int) -> np.ndarray:
        """Samples of each class at one client, without drawing the samples."""
        return self._counts(client)[0]

    def _counts(self, client: int) -> tuple[np.ndarray, np.random.Generator]:
        number = client + self.clients if client < 0 else client
        if not 0 <= number < self.clients:
            raise IndexError(f"There is no client {client}; the clients are 0..{self.clients - 1}.")
        generator = rng(self.seed, "drawn", number)
        mix = generator.dirichlet(np.full(len(self._have), self.beta))
        counts = np.zeros(len(self._have), dtype=np.int64)
        # Where a class has less than its share, the rest is drawn again from what the others still have.
        while (need := self.size - int(counts.sum())) > 0:
            left = self._have - counts
            wish = mix * (left > 0)
            wish = wish / wish.sum() if wish.sum() > 1e-12 else left / left.sum()
            counts += np.minimum(generator.multinomial(need, wish), left)
        return counts, generator
