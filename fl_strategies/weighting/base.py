"""What a weighting is: it maps what is known of the replying clients to p with sum 1. The mathematics are pure NumPy or torch functions beside it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fl_config.params import Params
from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerSide

Weights = NDArray[np.float64]
Metrics = dict[str, Any]


class Weighting:
    """Base of every weighting; `asks` names scalars every client answers in the query, `reports` those it sends with each reply."""

    Params: ClassVar[type[Params]] = Params
    asks: ClassVar[tuple[str, ...]] = ()
    reports: ClassVar[tuple[str, ...]] = ()
    needs_target: ClassVar[bool] = False

    def __init__(self, params: Any) -> None:
        self.params = params

    def ask_arguments(self, name: str) -> dict[str, Any]:
        """The arguments with which a client computes one of `asks`."""
        return {}

    def decides(self, round: int) -> bool:
        """Whether these weights make the model that goes out this round; otherwise the base's own weighting does."""
        return True

    def customises(self, round: int, last_round: int) -> bool:
        """Whether the server forms a model of its own after this round, beside the one that goes out."""
        return False

    def keeps_models(self, round: int, last_round: int) -> bool:
        """Whether the clients' models of this round are kept, for weights that are learned when predicting."""
        return False

    def customised(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        """The weights of the server's own model."""
        return self.weights(cohort, sent, server, round)

    def weights(self, cohort: Cohort, sent: Vector, server: ServerSide, round: int) -> tuple[Weights, Metrics]:
        """p over the cohort (sum 1) and what is worth recording; `sent` is the model that went out, client models are sent + cohort.updates."""
        raise NotImplementedError
