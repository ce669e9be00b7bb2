"""`shards:CLASSES`: every client holds pieces of CLASSES different classes, and sizes are as equal as the classes allow."""

from __future__ import annotations

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Argument, Parts, Request, scheme


@scheme("shards:CLASSES", "pieces of CLASSES classes for each client", Argument("CLASSES", at_least=1, whole=True))
def divide(ask: Request) -> Parts:
    pools = ask.shuffled_classes()
    return deal_shards(pools, ask.clients, int(ask.values[0]), ask.generator, ask.what)


def deal_shards(
    pools: list[np.ndarray], clients: int, each: int, generator: np.random.Generator, what: str
) -> list[np.ndarray]:
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
            "use more clients or more classes per client."
        )
    pieces = _pieces_per_class(sizes, clients, each, what)
    shards = [list(np.array_split(pool, count)) if count else [] for pool, count in zip(pools, pieces, strict=True)]
    parts = []
    for chosen in _assign(pieces, clients, each, generator):
        parts.append(np.concatenate([shards[label].pop() for label in chosen]))
    # Client numbers must not tell who was dealt first.
    return [parts[client] for client in generator.permutation(clients)]


def _pieces_per_class(sizes: np.ndarray, clients: int, each: int, what: str) -> np.ndarray:
    """How many pieces each class is cut into: at least one, at most one per client, clients * each in all."""
    most = np.minimum(sizes, clients)
    if most.sum() < clients * each:
        raise ConfigError(
            f"{what}: {clients} clients with {each} classes each need {clients * each:,} pieces, but the classes "
            f"have only {int(most.sum()):,} samples to cut between clients; use fewer clients or fewer classes per client."
        )
    pieces = (sizes > 0).astype(np.int64)
    # One at a time to the class whose pieces are largest: proportional, and the bounds hold at every step.
    for _ in range(clients * each - int(pieces.sum())):
        weight = np.where(pieces < most, sizes / np.maximum(pieces, 1), -1.0)
        pieces[int(weight.argmax())] += 1
    return pieces


def _assign(pieces: np.ndarray, clients: int, each: int, generator: np.random.Generator) -> list[list[int]]:
    """`each` different classes per client; a class with a piece for every remaining client has to be taken at once."""
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
