"""Who trains in a round: a function of (seed, round) and the client ids, whatever the order in which clients connected.

fixed      max(1, floor(fraction N)) clients without replacement
bernoulli  every client independently with probability `fraction`, drawn again while nobody is in (FedDyn's lineage)
poisson    the same drawn once, so that a round may be without anybody: what a gain in privacy by sampling is proven for
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from fl_config.seeds import rng
from fl_protocol.types import ClientId, client_order

BERNOULLI_DRAWS = 1000


class Ordered(tuple[ClientId, ...]):
    """Client ids that are known to be in the order of `client_order`."""


def ordered(clients: Iterable[ClientId]) -> Sequence[ClientId]:
    """The ids in the order of `client_order`; at no cost where they are known to be, as between the rounds of a run."""
    if isinstance(clients, Ordered) or (isinstance(clients, range) and clients.step > 0):
        return clients
    return Ordered(sorted(clients, key=client_order))


def sample_cohort(
    clients: Iterable[ClientId], fraction: float, seed: int, round: int, sampler: str = "fixed"
) -> list[ClientId]:
    ids = ordered(clients)
    generator = rng(seed, "cohort", round)
    if sampler == "poisson":
        return [ids[int(i)] for i in np.flatnonzero(generator.random(len(ids)) < fraction)]
    if sampler == "bernoulli":
        for _ in range(BERNOULLI_DRAWS):
            chosen = np.flatnonzero(generator.random(len(ids)) <= fraction)
            if len(chosen):
                return [ids[int(i)] for i in chosen]
    count = cohort_size(len(ids), fraction)
    return [ids[i] for i in sorted(generator.choice(len(ids), size=count, replace=False))]


def cohort_size(clients: int, fraction: float) -> int:
    """How many of so many the fixed sampler draws."""
    return min(clients, max(1, int(fraction * clients + 1e-9)))


def spare_clients(
    clients: Iterable[ClientId], cohort: list[ClientId], share: float, seed: int, round: int
) -> list[ClientId]:
    """ceil(share |cohort|) clients more, as far as there are any, asked in case some of the cohort are slow."""
    ids = ordered(clients)
    rest = len(ids) - len(cohort)
    count = min(rest, math.ceil(share * len(cohort) - 1e-9))
    if not count:
        return []
    chosen = np.sort(rng(seed, "spare clients", round).choice(rest, size=count, replace=False))
    # Numbers among the others become numbers among all: each moves up by those of the cohort that stand before it.
    taken = np.sort([bisect_left(ids, client_order(client), key=client_order) for client in cohort])
    before = taken - np.arange(len(taken))
    return [ids[i] for i in chosen + np.searchsorted(before, chosen, side="right")]
