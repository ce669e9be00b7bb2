"""What a weighting is: it maps what is known of the replying clients to p with sum 1. The mathematics are pure functions beside it.

    weights(cohort, state, server) -> p, state, metrics

`state` is the weighting's own, a plain dict of arrays that comes in and goes out (a checkpoint has it); `server` is what the server
itself has, to read only. The model that went out is cohort.sent, client i's is cohort.sent + cohort.updates[i].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fl_config.params import Params
from fl_data import Augment
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources

Weights = NDArray[np.float64]
Metrics = dict[str, Any]
Weighed = tuple[Weights, State, Metrics]
Sums = Mapping[str, NDArray[np.int64]]


class Weighting:
    """Base of every weighting; a subclass overrides `weights` and says what it needs."""

    kind: ClassVar[str] = "weighting"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")
    asks: ClassVar[tuple[str, ...]] = ()  # numbers that every client answers once (clients/answers)
    reports: ClassVar[tuple[str, ...]] = ()  # numbers that every client sends with each reply
    sums: ClassVar[tuple[str, ...]] = ()  # vectors whose sum over all clients is needed before anything is asked
    round_sums: ClassVar[tuple[str, ...]] = ()  # vectors summed over a round's cohort, of the model that went out
    needs_target: ClassVar[bool] = False  # learns on the server's unlabelled target data, with whole client models
    needs_horizon: ClassVar[bool] = False  # must know which round is the last
    equal: ClassVar[bool] = False  # gives every client the same weight
    known_before_training: ClassVar[bool] = False  # uses nothing of a cohort but its ids, sizes, population and answers

    def __init__(self, params: Any) -> None:
        self.params = params

    def ask_arguments(self, name: str, sums: Sums) -> dict[str, Any]:
        """The arguments with which a client computes one of `asks`; `sums` has the totals of `sums`."""
        return {}

    def sums_in(self, round: int, last_round: int) -> bool:
        """Whether this round's weights need `round_sums`; `cohort.sums` has them then, or nothing where too few took part."""
        return True

    def sum_arguments(self, name: str, round: int, seed: int) -> dict[str, Any]:
        """The arguments with which a client computes one of `round_sums`; `seed` is the server's."""
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

    def predict(self, models: Sequence[Any], x: Tensor, augment: Augment, seed: int) -> tuple[Tensor, Tensor]:
        """The outputs [B, C] for samples, from the models that were kept for that, and each sample's weights [B, K] of them."""
        raise NotImplementedError

    def customised(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        """The weights of the server's own model."""
        return self.weights(cohort, state, server)

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        """p over the cohort (sum 1), the new state, and what is worth recording."""
        raise NotImplementedError
