"""Numbers that a weighting remembers of every client between rounds, as arrays in the order of `client_order`."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort

log = logging.getLogger("fedloom")


def recall(state: State, key: str, cohort: Cohort, default: float) -> NDArray[np.float64]:
    """A copy of the array over the population; `default` everywhere at first and after the population has changed."""
    kept = state.get(key)
    if kept is not None and kept.shape == (cohort.population.count,):
        return np.array(kept, dtype=np.float64)
    if kept is not None:
        log.warning(
            "%s was kept for %d clients, now there are %d: starting anew.", key, kept.size, cohort.population.count
        )
    return np.full(cohort.population.count, default)
