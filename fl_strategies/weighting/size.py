"""Weights by number of examples: p_i = n_i / sum over the cohort (FedAvg, McMahan et al., AISTATS 2017)."""

from __future__ import annotations

from fl_config.parts import part
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weighed, Weighting


@part(
    "size",
    slot="weighting",
    what="p_i = n_i / sum n",
    equation=r"p_i = \frac{n_i}{\sum_{j \in S} n_j}",
    paper="fedavg",
    year=2017,
)
class Size(Weighting):
    known_before_training = True

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        return cohort.share, state, {}
