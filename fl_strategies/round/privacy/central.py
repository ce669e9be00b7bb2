"""Central differential privacy (McMahan, Ramage, Talwar & Zhang, "Learning Differentially Private Recurrent Language Models", ICLR 2018):

    clip_i = min(1, C / ||Delta_i||),   D = sum_i p_i clip_i Delta_i + z S xi,   xi from N(0, I),   S = C max_i p_i

The server's step gets D in place of the weighted average, and nothing else of the clients. Neighbours are two runs of which one has
all of one client's updates replaced by 0; who takes part and with which weight is the same in both and taken as known. Then the sum
changes by p_i clip_i Delta_i, whose norm is at most S. (Replacing an update by any other changes it by up to 2 S: that is half of z.)

`rate` below 1: every client is in a round with this probability, drawn in secret, and D has the fixed denominator of the expected
cohort, p_i = 1 / (rate N) and S = C / (rate N). Weights that add up to 1 over the drawn cohort would let one client move all others.
A round that nobody is in releases its noise like any other. Only so the accountant's gain by sampling holds.

Noise and cohorts are of `seed` where it is given: a simulation, which is to give the same bits again. Without one they come from the
system's entropy. Buffers stay as they went out.

Where the server sees the sum of the updates only (--secure-aggregation), clients clip and add the noise themselves, each a share of
it that makes the whole of the fewest clients without whom there is no sum (clients/secure/contribution.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fl_config.noise import normal
from fl_protocol.messages import NoiseShare
from fl_protocol.types import Arrays, Matrix, State
from fl_strategies.recipes import Recipe
from fl_strategies.round.cohort import Cohort, norm, weighted_sum
from fl_strategies.round.privacy.covered import check_central
from fl_strategies.round.privacy.protection import Accounted, Released, Weights
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.records import Record
from fl_strategies.round.state import RunState


def clip_factors(updates: Matrix, clip: float) -> NDArray[np.float64]:
    """min(1, C / ||Delta_i||) for each row."""
    norms = np.array([norm(row) for row in updates], dtype=np.float64)
    return np.minimum(1.0, clip / np.maximum(norms, np.finfo(np.float64).tiny))


@dataclass
class Central(Accounted):
    clip: float = 1.0
    seed: int | None = None
    fitted: int = 0  # rounds that the noise was computed for, where it was

    def check(self, recipe: Recipe) -> None:
        check_central(recipe, sampled=self.rate < 1.0)

    def says(self, state: RunState) -> Record:
        limit = f"; the run ends before epsilon = {self.budget:g} is exceeded" if self.budget else ""
        fitted = f" (the least with which {self.fitted} rounds fit into the budget)" if self.fitted else ""
        sampled = f", secret sampling with probability {self.rate:g}" if self.rate < 1.0 else ""
        text = (
            f"central differential privacy: updates clipped to {self.clip:g}, noise multiplier {self.ledger(state.of(KEY)).noise:g}{fitted}{sampled}, "
            f"delta = {self.delta:g}{limit}"
        )
        return {"privacy": text}

    def cohort_seed(self, seed: int) -> int:
        return secrets.randbits(63) if self.rate < 1.0 and self.seed is None else seed

    def noise_share(self, own: State) -> NoiseShare | None:
        return NoiseShare(self.clip, self.ledger(own).noise, self.seed)

    def weights(self, cohort: Cohort) -> Weights | None:
        return np.full(len(cohort.ids), self._fixed(cohort)) if self.rate < 1.0 else None

    def _fixed(self, cohort: Cohort) -> float:
        return 1.0 / (self.rate * cohort.population.count)

    def release(self, cohort: Cohort, updates: Matrix, weights: Weights, own: State) -> Released:
        own = self.spend(cohort.round, cohort.ids, own)
        if cohort.agreed is not None:  # the sum came with the clients' own shares of the noise
            return updates, weights, own, {}
        factors = clip_factors(updates, self.clip)
        sensitivity = self.clip * (self._fixed(cohort) if self.rate < 1.0 else float(weights.max()))
        deviation = float(own["noise"]) * sensitivity
        total = weighted_sum(weights * factors, updates)
        total += deviation * normal(len(total), self.seed, cohort.round)
        clipped = float(np.mean(factors < 1.0)) if len(factors) else 0.0
        told = {"privacy/deviation": deviation, "privacy/clipped": clipped}
        return cast(Matrix, total[np.newaxis]), np.ones(1), own, told  # in float64, as the sum would have been

    def buffers(self, sent: Arrays, mean: Callable[[Weights], Arrays], weights: Weights) -> Arrays:
        return sent
