"""Weights by consistency: w_k is proportional to how alike client k's predictions of two views of a sample are.

FedSSA's rule-based baseline (App. D, eq. 9): w_k = s_k / sum_i s_i with
    s_k = mean over the target samples of cos(softmax z_k(x^1), softmax z_k(x^2)).
The mean's printed count N_k is read as the number of target samples.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field

from fl_config.params import Params
from fl_config.parts import part
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Weighed, Weighting
from fl_strategies.weighting.ssa.views import client_views, mean_cosines, over_cohort, usable_clients


class SimilarityParams(Params):
    n_view_banks: int = Field(default=1, ge=1, description="View pairs per sample that the cosine is averaged over.")
    max_samples: int = Field(
        default=2000, ge=0, description="Target samples used per round, drawn by seed and round; 0: all."
    )


@part(
    "similarity",
    slot="weighting",
    what="p_i ~ mean cosine between two views",
    equation=r"w_k = \frac{s_k}{\sum_i s_i}, \qquad s_k = \frac{1}{|U|} \sum_{x \in U} \cos \bigl( \operatorname{softmax} z_k(x^1), \, \operatorname{softmax} z_k(x^2) \bigr)",
    paper="fedssa",
    year=2024,
)
class Similarity(Weighting):
    Params: ClassVar[type[Params]] = SimilarityParams
    needs = ("classes",)
    needs_target: ClassVar[bool] = True

    def weights(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        views = client_views("similarity", cohort, server, self.params.max_samples)
        logits = views.bank(*range(self.params.n_view_banks))
        usable = usable_clients(logits, "similarity", cohort)
        if not usable.any():
            return cohort.share, state, {}
        cosine = over_cohort(mean_cosines(logits[:, torch.from_numpy(usable)]), usable)
        return cosine / cosine.sum(), state, {"similarity/cosine": cosine.tolist()}
