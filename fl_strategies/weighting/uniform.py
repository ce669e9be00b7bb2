"""Equal weights: p_i = 1 / m over the cohort, as in the drift-correcting methods."""

from __future__ import annotations

import numpy as np

from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerSide
from fl_strategies.weighting.base import Metrics, Weighting, Weights


class Uniform(Weighting):
    def weights(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        return np.full(len(cohort.ids), 1.0 / len(cohort.ids)), {}
