"""Local differential privacy as the server sees it: clients noise their own replies (clients/privacy.py), and every reply costs.

A reply has the noise multiplier z = sqrt(2 ln(1.25 / delta)) / epsilon over the distance 2 C of any two updates of norm C. The formula
is proven for epsilon up to 1; what is recorded is the exact cost of z, whatever epsilon was wished. A client pays whenever it is asked,
also where its reply comes too late to be used; told is the client that was asked most often:

    privacy/epsilon        k replies together, at delta
    privacy/epsilon_basic  k times the cost of one, at k delta: what holds whatever a reply's noise looks like
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fl_protocol.types import ClientId, State
from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.protection import Accounted
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState


def local_noise(wished: float, delta: float) -> float:
    """The noise multiplier of one reply."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) / wished


@dataclass
class Local(Accounted):
    def says(self, state: RunState) -> Record:
        one = epsilon(self.noise, 1.0, 1, self.delta)
        limit = f"; the run ends before {self.budget:g} is exceeded" if self.budget else ""
        text = f"local differential privacy: one reply costs its client epsilon = {one:.4g} at delta = {self.delta:g}{limit}"
        return {"privacy": text}

    def asked(self, round: int, clients: Iterable[ClientId], own: State) -> State:
        return self.spend(round, clients, super().asked(round, clients, own))

    def figures(self, state: RunState) -> Record:
        ledger = self.ledger(state.of(KEY))
        basic = ledger.most * epsilon(ledger.noise, 1.0, 1, self.delta)
        return {**super().figures(state), "privacy/epsilon_basic": basic}
