"""Weights by number of examples: p_i = n_i / sum over the cohort (FedAvg, McMahan et al., AISTATS 2017)."""

from __future__ import annotations

from fl_strategies.cohort import Cohort, Vector
from fl_strategies.server_side import ServerSide
from fl_strategies.weighting.base import Metrics, Weighting, Weights


class Size(Weighting):
    def weights(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        return cohort.share, {}
