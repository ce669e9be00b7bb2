"""Weights by the mean cosine of two views, of FedSSA's appendix, by hand."""

from __future__ import annotations

import numpy as np

from fl_strategies.weighting.similarity import Similarity, SimilarityParams
from tests.fl_strategies.weighting.two_points import STEADY, SWAPPED, cohort_of, side


def test_similarity_by_hand() -> None:
    weights, _, metrics = Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), {}, side())
    cosine = 2 * (0.75 * 0.25) / (0.75**2 + 0.25**2)  # 0.6
    np.testing.assert_allclose(metrics["similarity/cosine"], [cosine, 1.0], atol=1e-6)
    np.testing.assert_allclose(weights, [cosine / (1 + cosine), 1 / (1 + cosine)], atol=1e-6)


def test_more_banks_average_the_same_mean() -> None:
    one, _, _ = Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), {}, side())
    three, _, _ = Similarity(SimilarityParams(n_view_banks=3)).weights(cohort_of(SWAPPED, STEADY), {}, side())
    np.testing.assert_allclose(one, three, atol=1e-6)
