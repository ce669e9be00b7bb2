"""Dealing class pools to clients by equal sizes (class mixes) or by whole pieces (shards)."""

from __future__ import annotations

import numpy as np

from fl_config.errors import ConfigError

Parts = list[np.ndarray]


def deal_mixes(pools: Parts, alphas: np.ndarray, generator: np.random.Generator) -> Parts:
    """Clients of equal size (to one sample), client i with a class mix ~ Dir(alpha_i); every sample is dealt.

    All clients ask at once for what their mix says. Where a class runs out, a random part of the requests is served, and the
    unserved are drawn again from the same mixes over the classes that are left: at most one pass a class.
    """
    clients, classes = len(alphas), len(pools)
    left = np.array([len(pool) for pool in pools], dtype=np.int64)
    need = np.full(clients, left.sum() // clients, dtype=np.int64)
    need[generator.permutation(clients)[: left.sum() % clients]] += 1
    mixes = np.stack([generator.dirichlet(np.full(classes, alpha)) for alpha in alphas])
    counts = np.zeros((clients, classes), dtype=np.int64)
    while need.any():
        served = _serve(_ask(mixes, left, need, generator), left, generator)
        counts += served
        left -= served.sum(0)
        need -= served.sum(1)
    pieces = [np.split(pool, np.cumsum(counts[:, label])[:-1]) for label, pool in enumerate(pools)]
    return [np.concatenate([piece[client] for piece in pieces]) for client in range(clients)]


def _ask(mixes: np.ndarray, left: np.ndarray, need: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    wish = mixes * (left > 0)
    # A mix that has nothing left to choose from takes the remaining classes as they are.
    lost = ~(wish.sum(1) > 1e-12)
    wish[lost] = left
    wish /= wish.sum(1, keepdims=True)
    return np.asarray(generator.multinomial(need, wish), dtype=np.int64)


def _serve(asked: np.ndarray, left: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    served = asked.copy()
    for label in np.flatnonzero(asked.sum(0) > left):
        served[:, label] = generator.multivariate_hypergeometric(asked[:, label], left[label], method="marginals")
    return served


def deal_shards(pools: Parts, clients: int, each: int, generator: np.random.Generator, what: str) -> Parts:
    """Each client gets pieces of `each` different classes; a class is cut into pieces in proportion to its size.

    With clients * each equal to the number of balanced classes, every piece is a whole class.
    """
    sizes = np.array([len(pool) for pool in pools], dtype=np.int64)
    present = int((sizes > 0).sum())
    if each > present:
        raise ConfigError(f"{what} wants {each} classes a client, but the data has {present}.")
    if clients * each < present:
        raise ConfigError(
            f"{what}: {clients} clients with {each} classes each hold at most {clients * each} of {present} classes; "
            "use more clients or more classes a client."
        )
    pieces = _pieces_per_class(sizes, clients, each, what)
    shards = [list(np.array_split(pool, count)) if count else [] for pool, count in zip(pools, pieces, strict=True)]
    parts = []
    for chosen in _assign(pieces, clients, each, generator):
        parts.append(np.concatenate([shards[label].pop() for label in chosen]))
    # Client numbers must not tell who was dealt first.
    return [parts[client] for client in generator.permutation(clients)]


def _pieces_per_class(sizes: np.ndarray, clients: int, each: int, what: str) -> np.ndarray:
    """How many pieces each class is cut into: one or more, one a client at most, in all clients * each."""
    most = np.minimum(sizes, clients)
    if most.sum() < clients * each:
        raise ConfigError(
            f"{what}: {clients} clients with {each} classes each need {clients * each:,} pieces, but the classes "
            f"have only {int(most.sum()):,} samples to cut between clients; use fewer clients or fewer classes a client."
        )
    pieces = (sizes > 0).astype(np.int64)
    # One at a time to the class whose pieces are largest: proportional, and the bounds hold at every step.
    for _ in range(clients * each - int(pieces.sum())):
        weight = np.where(pieces < most, sizes / np.maximum(pieces, 1), -1.0)
        pieces[int(weight.argmax())] += 1
    return pieces


def _assign(pieces: np.ndarray, clients: int, each: int, generator: np.random.Generator) -> list[list[int]]:
    """`each` different classes a client; a class with a piece for every remaining client has to be taken at once."""
    left = pieces.copy()
    rows = []
    for remaining in range(clients, 0, -1):
        forced = np.flatnonzero(left == remaining)
        free = np.flatnonzero((left > 0) & (left < remaining))
        wanted = each - len(forced)
        drawn = generator.choice(free, wanted, replace=False, p=left[free] / left[free].sum()) if wanted else free[:0]
        chosen = np.concatenate([forced, drawn])
        left[chosen] -= 1
        rows.append([int(label) for label in chosen])
    return rows
