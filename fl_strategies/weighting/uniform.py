"""Equal weights: p_i = 1 / m over the cohort, as in the drift-correcting methods."""

from __future__ import annotations

import numpy as np

from fl_strategies.cohort import Cohort, Vector
from fl_strategies.server_side import ServerSide
from fl_strategies.weighting.base import Metrics, Weighting, Weights


class Uniform(Weighting):
    def weights(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        return np.full(len(cohort.ids), 1.0 / len(cohort.ids)), {}
