"""Weights by confidence: w_k is proportional to the variance of client k's predicted class probabilities.

FedSSA's rule-based baseline (App. D, eq. 10): w_k = c_k / sum_i c_i with
    c_k = mean over the target samples of var(softmax z_k(x)).
The equation names no view, so the samples are taken as they are; `on=views` averages over augmented views, as FedSSA's
own variance term does. The mean's printed count N_k is read as the number of target samples.
"""

from __future__ import annotations

import logging
from typing import ClassVar, Literal

import torch
from pydantic import Field

from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weighed, Weighting
from fl_strategies.weighting.ssa.views import client_views, mean_variances, over_cohort, usable_clients

log = logging.getLogger("fedloom")


class ConfidenceParams(Params):
    on: Literal["plain", "views"] = Field(
        default="plain", description="Predict the samples as they are, or augmented views."
    )
    n_view_banks: int = Field(default=1, ge=1, description="View pairs per sample where on=views.")
    max_samples: int = Field(
        default=2000, ge=0, description="Target samples used per round, drawn by seed and round; 0: all."
    )


@part(
    "confidence",
    slot="weighting",
    what="p_i ~ mean variance of predictions",
    equation=r"w_k = \frac{c_k}{\sum_i c_i}, \qquad c_k = \frac{1}{|U|} \sum_{x \in U} \operatorname{var} \, \operatorname{softmax} z_k(x)",
    paper="fedssa",
    year=2024,
)
class Confidence(Weighting):
    Params: ClassVar[type[Params]] = ConfidenceParams
    needs = ("classes",)
    needs_target: ClassVar[bool] = True

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        views = client_views("confidence", cohort, server, self.params.max_samples)
        logits = views.plain() if self.params.on == "plain" else views.bank(*range(self.params.n_view_banks))
        usable = usable_clients(logits, "confidence", cohort)
        if not usable.any():
            return cohort.share, state, {}
        variance = over_cohort(mean_variances(logits[:, torch.from_numpy(usable)]), usable)
        if variance.sum() <= 0:
            log.warning("No client is confident about any sample in round %d: weighting by size.", cohort.round)
            return cohort.share, state, {"confidence/variance": variance.tolist()}
        return variance / variance.sum(), state, {"confidence/variance": variance.tolist()}
