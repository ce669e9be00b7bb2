"""`dirichlet:BETA`: each class is divided among the clients by a Dirichlet draw of its own; sizes vary."""

from __future__ import annotations

import numpy as np

from fl_data.partitions.schemes import Argument, Parts, Request, scheme

_REDRAWS = 20


@scheme("dirichlet:BETA", "each class divided by a Dirichlet(BETA) draw; sizes vary", Argument("BETA"))
def divide(ask: Request) -> Parts:
    """Drawn again a few times while a client has too little; the draw whose smallest client is largest is kept."""
    pools = ask.shuffled_classes()
    best: np.ndarray | None = None
    sizes = np.array([len(pool) for pool in pools])
    for _ in range(_REDRAWS):
        shares = ask.generator.dirichlet(np.full(ask.clients, ask.values[0]), size=len(pools))
        cuts = np.rint(np.cumsum(shares, axis=1) * sizes[:, None]).astype(np.int64)
        cuts[:, -1] = sizes
        counts = np.diff(np.minimum(cuts, sizes[:, None]), axis=1, prepend=0)
        if best is None or counts.sum(0).min() > best.sum(0).min():
            best = counts
        if best.sum(0).min() >= ask.least:
            break
    assert best is not None
    pieces = [np.split(pool, np.cumsum(row)[:-1]) for pool, row in zip(pools, best, strict=True)]
    return [np.concatenate([piece[client] for piece in pieces]) for client in range(ask.clients)]
