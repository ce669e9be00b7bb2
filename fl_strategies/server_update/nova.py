"""FedNova (Wang et al., NeurIPS 2020): a client that took more local steps must not pull the average to its optimum.

    Delta'_i = tau_eff Delta_i / a_i,   tau_eff = sum_i p_i a_i;   omega + sum_i p_i Delta'_i is FedNova's update

a_i = ||a_i||_1 comes with the reply as `local_weight`: K_i for plain SGD, see `clients.effective_steps` for momentum.
p are the weights of the round, whatever made them. Equal a_i give back the updates themselves. Stateless.
The true K_i is used; FedDisco's code takes floor(n_i / B), which is 0 for a client with less than one batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_config.parts import part
from fl_protocol.types import Matrix
from fl_strategies.round.cohort import Cohort
from fl_strategies.server_update.base import ServerStep


def nova(updates: Matrix, weights: NDArray[np.float64], local_weights: NDArray[np.float64]) -> Matrix:
    """tau_eff Delta_i / a_i; a client without a step (a_i = 0) did not move and stays where it is."""
    if np.all(local_weights == local_weights[0]):
        return updates
    tau_eff = float(np.sum(weights * local_weights))
    normalised = np.empty_like(updates)
    for row, update, a in zip(normalised, updates, local_weights, strict=True):
        row[:] = update.astype(np.float64) * (tau_eff / a) if a > 0 else 0.0
    return normalised


@part(
    "nova",
    slot="normaliser",
    what="updates divided by their number of steps",
    equation=r"\omega^{+} = \omega + \tau_{\mathrm{eff}} \sum_{i \in S} p_i \, \frac{\Delta_i}{a_i}, \qquad \tau_{\mathrm{eff}} = \sum_{i \in S} p_i \, a_i",
    paper="fednova",
    year=2020,
)
class Nova(ServerStep):
    def normalise(self, cohort: Cohort, weights: NDArray[np.float64]) -> Matrix:
        local_weights = cohort.metrics.get("local_weight")
        if local_weights is None:
            raise ConfigError(
                "FedNova needs 'local_weight' in every reply, but these have none: use clients.LocalClient or send it."
            )
        return nova(cohort.updates, weights, local_weights)
