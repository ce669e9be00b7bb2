"""`labels:K` and `capped:BETA`: the two label skews of NIID-Bench, draw by draw as Flower's baseline of it makes them.

Li et al., "Federated Learning on Non-IID Data Silos", ICDE 2022.
    labels:K     client i has the class i mod C, then classes drawn at random until it has K different ones;
                 each class is shuffled and cut evenly among its holders.
    capped:BETA  class by class: the class is shuffled, shares are drawn from a Dirichlet(BETA) over the clients, the share
                 of a client that already has N / clients samples or more becomes 0, the others are scaled to sum 1, and the
                 class is cut at the cumulated shares. The whole draw is repeated until every client has 10 samples.
(Cutting rounds down, so the last client may be given one sample of a class although it is full; theirs is, too.)
The draws come from NumPy's default_rng(seed) in this order, so that seed 42 gives the splits of the published tables.
"""

from __future__ import annotations

import logging

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Argument, Parts, Request, scheme

log = logging.getLogger("fedloom")
LEAST = 10
_REDRAWS = 1000


@scheme(
    "labels:K", "NIID-Bench's K labels for each client", Argument("K", at_least=1, whole=True), plain_seed=True
)  # fmt: skip
def divide_by_labels(ask: Request) -> Parts:
    each = int(ask.values[0])
    if each > ask.classes:
        raise ConfigError(
            f"{ask.what} wants {each} different classes for each client, but the data has {ask.classes}; use a smaller K."
        )
    holders: list[list[int]] = [[] for _ in range(ask.classes)]
    for client in range(ask.clients):
        own = [client % ask.classes]
        while len(own) < each:
            drawn = int(ask.generator.integers(ask.classes))
            if drawn not in own:
                own.append(drawn)
        for label in own:
            holders[label].append(client)
    parts: list[list[np.ndarray]] = [[] for _ in range(ask.clients)]
    for label, clients in enumerate(holders):
        pool = np.flatnonzero(ask.labels == label)
        ask.generator.shuffle(pool)
        for client, piece in zip(clients, np.array_split(pool, max(1, len(clients))), strict=False):
            parts[client].append(piece)
    alone = [label for label, clients in enumerate(holders) if not clients]
    if alone:
        log.warning(
            "%s: no client holds the class %d (%d such classes), so its samples are left out; use more clients or a larger K.",
            ask.what, alone[0], len(alone),
        )  # fmt: skip
    return [np.concatenate(pieces) for pieces in parts]


@scheme(
    "capped:BETA", "NIID-Bench's Dirichlet(BETA), where full clients take no more", Argument("BETA"), plain_seed=True
)
def divide_capped(ask: Request) -> Parts:
    if len(ask.labels) < LEAST * ask.clients:
        raise ConfigError(
            f"{ask.what} gives every client {LEAST} samples or more, which is impossible for {ask.clients} clients and "
            f"{len(ask.labels):,} samples; use fewer clients."
        )
    for _ in range(_REDRAWS):
        parts = _draw(ask)
        if min(map(len, parts)) >= LEAST:
            return parts
    raise ConfigError(
        f"{ask.what}: in {_REDRAWS} draws there was always a client with fewer than {LEAST} samples; "
        "use fewer clients or a larger BETA."
    )


def _draw(ask: Request) -> list[np.ndarray]:
    full = len(ask.labels) / ask.clients
    sizes = np.zeros(ask.clients, dtype=np.int64)
    pieces: list[list[np.ndarray]] = []
    for label in range(ask.classes):
        pool = np.flatnonzero(ask.labels == label)
        ask.generator.shuffle(pool)
        open_clients = sizes < full
        shares = ask.generator.dirichlet(np.full(ask.clients, ask.values[0])) * open_clients
        # With a tiny BETA all of a draw may lie on full clients; the class then goes to the others evenly.
        shares = shares / shares.sum() if shares.sum() > 0 else open_clients / max(1, open_clients.sum())
        cut = np.split(pool, (np.cumsum(shares) * len(pool)).astype(np.int64)[:-1])
        sizes += [len(piece) for piece in cut]
        pieces.append(cut)
    return [np.concatenate([cut[client] for cut in pieces]) for client in range(ask.clients)]
