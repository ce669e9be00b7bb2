"""How far the client's classes are from a target: the one scalar that FedDisco asks of a client (fl_data/discrepancy.py).

It is computed here, on the client's side, because a label histogram never leaves a client. The value is raw: the normalisation of KL
over the clients of a round is the server's.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from clients.answers.base import Facts, number
from fl_data.discrepancy import discrepancy


@number("discrepancy")
def own_discrepancy(facts: Facts, metric: str = "kl", target: ArrayLike | None = None) -> float:
    return discrepancy(facts.counts, metric, target)
