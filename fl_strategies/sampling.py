"""Who trains in a round: a function of (seed, round) and the client ids, whatever the order in which clients connected.

fixed      max(1, floor(fraction N)) clients without replacement
bernoulli  every client independently with probability `fraction`, drawn again while nobody is in (FedDyn's lineage)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from fl_config.seeds import rng
from fl_protocol.types import ClientId, client_order

BERNOULLI_DRAWS = 1000


def sample_cohort(
    clients: Iterable[ClientId], fraction: float, seed: int, round: int, sampler: str = "fixed"
) -> list[ClientId]:
    ids = sorted(clients, key=client_order)
    generator = rng(seed, "cohort", round)
    if sampler == "bernoulli":
        for _ in range(BERNOULLI_DRAWS):
            chosen = [client for client, draw in zip(ids, generator.random(len(ids)), strict=True) if draw <= fraction]
            if chosen:
                return chosen
    count = min(len(ids), max(1, int(fraction * len(ids) + 1e-9)))
    return [ids[i] for i in sorted(generator.choice(len(ids), size=count, replace=False))]


def spare_clients(
    clients: Iterable[ClientId], cohort: list[ClientId], share: float, seed: int, round: int
) -> list[ClientId]:
    """ceil(share |cohort|) clients more, as far as there are any, asked in case some of the cohort are slow."""
    rest = sorted(set(clients) - set(cohort), key=client_order)
    count = min(len(rest), math.ceil(share * len(cohort) - 1e-9))
    if not count:
        return []
    chosen = rng(seed, "spare clients", round).choice(len(rest), size=count, replace=False)
    return [rest[i] for i in sorted(chosen)]
