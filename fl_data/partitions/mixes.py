"""`lda:ALPHA` and `mixed:ALPHA,ALPHA,...`: clients of equal size, each with a class mix of its own from a Dirichlet."""

from __future__ import annotations

import numpy as np

from fl_config.errors import ConfigError
from fl_data.partitions.schemes import Argument, Parts, Request, scheme


@scheme("lda:ALPHA", "equal sizes, each client's class mix drawn from a Dirichlet(ALPHA)", Argument("ALPHA"))
def divide(ask: Request) -> Parts:
    pools = ask.shuffled_classes()
    return deal_mixes(pools, np.full(ask.clients, ask.values[0]), ask.generator)


@scheme("mixed:ALPHA,ALPHA,...", "lda in equal groups of clients with these alphas", Argument("ALPHA"), repeats=True)
def divide_in_groups(ask: Request) -> Parts:
    pools = ask.shuffled_classes()
    if len(ask.values) > ask.clients:
        raise ConfigError(f"{ask.what} has {len(ask.values)} groups but there are {ask.clients} clients.")
    # Groups in order; where the clients do not divide evenly, the first groups have one more.
    groups = np.array_split(np.arange(ask.clients), len(ask.values))
    alphas = np.concatenate([np.full(len(group), alpha) for group, alpha in zip(groups, ask.values, strict=True)])
    return deal_mixes(pools, alphas, ask.generator)


def deal_mixes(pools: list[np.ndarray], alphas: np.ndarray, generator: np.random.Generator) -> Parts:
    """Clients of equal size (to one sample), client i with a class mix ~ Dir(alpha_i); every sample is dealt.

    All clients ask at once for what their mix says. Where a class runs out, a random part of the requests is served, and
    those that were not served are drawn again from the same mixes over the classes that are left: at most one pass per class.
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
