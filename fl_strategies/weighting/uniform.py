"""Equal weights: p_i = 1 / m over the cohort, as in the drift-correcting methods."""

from __future__ import annotations

import numpy as np

from fl_config.parts import part
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weighed, Weighting


@part("uniform", slot="weighting", what="p_i = 1 / m", equation=r"p_i = \frac{1}{m}", year=2017)
class Uniform(Weighting):
    known_before_training = True
    equal = True

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        return np.full(len(cohort.ids), 1.0 / len(cohort.ids)), state, {}
