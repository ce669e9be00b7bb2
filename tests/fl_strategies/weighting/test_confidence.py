"""Weights by the mean variance of the prediction, of FedSSA's appendix, by hand."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from torch import nn

from fl_config.errors import ConfigError
from fl_strategies.weighting.confidence import Confidence, ConfidenceParams
from fl_strategies.weighting.similarity import Similarity, SimilarityParams
from tests.fl_strategies.weighting.two_points import INDIFFERENT, LOG3, STEADY, SWAPPED, cohort_of, side


def test_confidence_by_hand() -> None:
    louder = [2 * LOG3, 0.0, 0.0, 2 * LOG3]  # (9/10, 1/10)
    cohort = cohort_of(SWAPPED, louder, INDIFFERENT)
    weights, _, metrics = Confidence(ConfidenceParams()).weights(cohort, {}, side())
    variances = np.array([2 * 0.25**2, 2 * 0.4**2, 0.0])  # unbiased over two classes
    np.testing.assert_allclose(metrics["confidence/variance"], variances, atol=1e-6)
    np.testing.assert_allclose(weights, variances / variances.sum(), atol=1e-6)
    on_views, _, _ = Confidence(ConfidenceParams(on="views")).weights(cohort, {}, side())
    np.testing.assert_allclose(on_views, weights, atol=1e-6)


def test_plain_confidence_needs_no_augmentation() -> None:
    bare = replace(side(), augment=None)
    weights, _, _ = Confidence(ConfidenceParams()).weights(cohort_of(SWAPPED, STEADY), {}, bare)
    np.testing.assert_allclose(weights, [0.5, 0.5], atol=1e-6)
    with pytest.raises(ConfigError, match="no augmentation"):
        Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), {}, bare)


def test_nobody_confident_is_weighed_by_size(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        weights, _, _ = Confidence(ConfidenceParams()).weights(cohort_of(INDIFFERENT, INDIFFERENT), {}, side())
    np.testing.assert_allclose(weights, [0.5, 0.5])
    assert "weighting by size" in caplog.text


def test_running_statistics_of_the_global_model_are_used() -> None:
    build = cast(Any, lambda: nn.Sequential(nn.BatchNorm1d(2, affine=False, eps=0), nn.Linear(2, 2, bias=False)))
    cohort = cohort_of(SWAPPED, INDIFFERENT)
    buffers = {
        "0.running_mean": np.zeros(2, dtype=np.float32),
        "0.running_var": np.full(2, 0.25, dtype=np.float32),  # doubles the features: logits (2 log 3, 0)
        "0.num_batches_tracked": np.array(1),
    }
    normed = replace(side(), build=build).with_buffers(cast(Any, buffers))
    _, _, metrics = Confidence(ConfidenceParams()).weights(cohort, {}, normed)
    np.testing.assert_allclose(metrics["confidence/variance"], [2 * 0.4**2, 0.0], atol=1e-5)
