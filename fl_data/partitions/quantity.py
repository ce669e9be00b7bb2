"""`quantity:BETA`: every client has the same class mix in expectation, and the sizes follow one Dirichlet draw.

Li et al., "Federated Learning on Non-IID Data Silos", ICDE 2022, quantity skew: q ~ Dir_N(BETA), client i has the share q_i.
A small BETA gives very unequal sizes; as BETA grows the partition becomes `iid`.
"""

from __future__ import annotations

import numpy as np

from fl_data.partitions.schemes import Argument, Parts, Request, scheme


@scheme(
    "quantity:BETA", "the same class mix for all, sizes drawn from a Dirichlet(BETA)", Argument("BETA"), by_class=False
)
def divide(ask: Request) -> Parts:
    order = ask.generator.permutation(len(ask.labels))
    shares = ask.generator.dirichlet(np.full(ask.clients, ask.values[0]))
    cuts = np.rint(np.cumsum(shares)[:-1] * len(order)).astype(np.int64)
    return np.split(order, cuts)
