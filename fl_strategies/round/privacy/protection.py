"""What stands between the clients' replies and the model that is made of them: nothing, or differential privacy with its costs.

A strategy asks its `Protection` before each round whether there may be one, tells it who is asked to train, and has it make the
weighted average of the replies. What it has to remember comes in and goes out as a plain dict of arrays, as with every part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.messages import NoiseShare
from fl_protocol.types import Arrays, ClientId, Matrix, State
from fl_strategies.recipes import Recipe
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.spending import KEY, Journal, Ledger
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState

log = logging.getLogger("fedloom")
Weights = NDArray[np.float64]
Released = tuple[
    Matrix, Weights, State, Record
]  # updates and their weights, what is remembered, what is worth recording


class Protection:
    """The base is a run without any."""

    ended = ""  # why a run ended before its last round

    def check(self, recipe: Recipe) -> None:
        """Raise a sentence if the recipe would undo the protection."""

    def says(self, state: RunState) -> Record:
        """What a run says of it when it starts."""
        return {}

    def rounds(self, first: int, last: int, state: RunState) -> Iterator[int]:
        """The rounds that there may be; `state` is looked at before each of them."""
        yield from range(first, last + 1)

    def cohort_seed(self, seed: int) -> int:
        """What a round's cohort is drawn with; `seed` is the run's."""
        return seed

    def asked(self, round: int, clients: Iterable[ClientId], own: State) -> State:
        """These clients are asked to train."""
        return own

    def noise_share(self, own: State) -> NoiseShare | None:
        """What every client must do where the server sees the sum of the updates only."""
        return None

    def weights(self, cohort: Cohort) -> Weights | None:
        """The clients' weights, where the recipe's weighting may not decide."""
        return None

    def release(self, cohort: Cohort, updates: Matrix, weights: Weights, own: State) -> Released:
        """The updates as the server's step may use them."""
        return updates, weights, own, {}

    def buffers(self, sent: Arrays, mean: Callable[[Weights], Arrays], weights: Weights) -> Arrays:
        """The buffers of the next model, of those that went out or of the mean of those that came back."""
        return mean(weights)

    def figures(self, state: RunState) -> Record:
        """What every round's record says of the costs."""
        return {}


@dataclass
class Accounted(Protection):
    """Releases with Gaussian noise, counted per client or, where sampling is secret, per round; a budget ends the run.

    noise    z: the noise has the deviation z times the sensitivity
    delta    of the guarantee
    budget   epsilon that is not exceeded; 0 is no limit
    rate     of a secret sampling; 1 is none
    journal  where releases are written down, for noise that is drawn anew when a round is run again
    """

    noise: float
    delta: float
    budget: float = 0.0
    rate: float = 1.0
    journal: Journal | None = None

    def ledger(self, own: State) -> Ledger:
        """What was released so far, by the run's state or by the journal, which may know of more."""
        known = Ledger.read(own, self.noise)
        written = self.journal.ledger if self.journal else None
        return written if written and written.rounds > known.rounds else known

    def cost(self, own: State, more: int = 0) -> float:
        """Epsilon so far, or after so many releases more, for the client that was part of the most."""
        ledger = self.ledger(own)
        return epsilon(ledger.noise, self.rate, self.counted(ledger) + more, self.delta)

    def counted(self, ledger: Ledger) -> int:
        return ledger.rounds if self.rate < 1.0 else ledger.most

    def spend(self, round: int, clients: Iterable[ClientId], own: State) -> State:
        """Count a release before it is made."""
        named = list(clients)
        ledger = self.ledger(own).after(named)
        if self.journal:
            self.journal.add(round, ledger, named)
        return ledger.write()

    def rounds(self, first: int, last: int, state: RunState) -> Iterator[int]:
        self.ended = ""
        for round in range(first, last + 1):
            if self._exhausted(state.of(KEY)):
                self.ended = self._why(state.of(KEY))
                log.info("%s", self.ended)
                return
            yield round

    def asked(self, round: int, clients: Iterable[ClientId], own: State) -> State:
        if self._exhausted(own):  # whoever runs the rounds may not have asked
            raise ConfigError(self._why(own))
        return own

    def _exhausted(self, own: State) -> bool:
        return bool(self.budget) and self.cost(own, 1) > self.budget

    def _why(self, own: State) -> str:
        return (
            f"The privacy budget of epsilon = {self.budget:g} at delta = {self.delta:g} is spent: {self.cost(own):.4g} so far, and one "
            f"more round could make it {self.cost(own, 1):.4g}."
        )

    def figures(self, state: RunState) -> Record:
        return {"privacy/epsilon": self.cost(state.of(KEY))}
