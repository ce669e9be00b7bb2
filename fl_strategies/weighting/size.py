"""Weights by number of examples: p_i = n_i / sum over the cohort (FedAvg, McMahan et al., AISTATS 2017)."""

from __future__ import annotations

from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerSide
from fl_strategies.weighting.base import Metrics, Weighting, Weights


class Size(Weighting):
    def weights(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        return cohort.share, {}
