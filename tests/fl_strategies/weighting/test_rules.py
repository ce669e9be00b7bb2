"""The rule-based weights of FedSSA's appendix: by mean cosine of two views, and by mean variance of the prediction."""

from __future__ import annotations

import logging
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerSide
from fl_strategies.weighting.confidence import Confidence, ConfidenceParams
from fl_strategies.weighting.similarity import Similarity, SimilarityParams

torch.set_num_threads(1)


class TwoPoints:
    """x = (1, 0) and (0, 1)."""

    x = torch.eye(2)
    y: Tensor | None = None

    def __len__(self) -> int:
        return 2

    def batch(self, index: Any) -> tuple[Tensor, None]:
        return self.x[index], None


class FlipEverySecondCall:
    """View 1 is the sample, view 2 the sample with its features exchanged."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        self.calls += 1
        return x if self.calls % 2 else x.flip(1)


def side() -> ServerSide:
    return ServerSide(
        build=cast(Any, lambda: nn.Linear(2, 2, bias=False)),
        seed=0,
        device=torch.device("cpu"),
        target=cast(Any, TwoPoints()),
        augment=cast(Any, FlipEverySecondCall()),
    )


SENT = np.array([1, -2, 3, 0.5], dtype=np.float32)  # models are this plus an update


def cohort_of(*matrices: list[float]) -> Cohort:
    sizes = dict.fromkeys(range(len(matrices)), 5)
    return Cohort(
        round=1,
        ids=list(sizes),
        sizes=np.array(list(sizes.values()), dtype=np.float64),
        updates=np.array(matrices, dtype=np.float32) - SENT,
        population=Population(cast(Any, sizes)),
    )


LOG3 = float(np.log(3))
# Logits of x = e_1: client 0 says (log 3, 0) -> (3/4, 1/4), and (0, log 3) -> (1/4, 3/4) for e_2; client 1 says
# (log 3, 0) for both, client 2 is indifferent. Row-major weights [out, in].
SWAPPED, STEADY, INDIFFERENT = [LOG3, 0.0, 0.0, LOG3], [LOG3, LOG3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]


def test_similarity_by_hand() -> None:
    weights, metrics = Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), SENT, side(), 1)
    cosine = 2 * (0.75 * 0.25) / (0.75**2 + 0.25**2)  # 0.6
    np.testing.assert_allclose(metrics["similarity/cosine"], [cosine, 1.0], atol=1e-6)
    np.testing.assert_allclose(weights, [cosine / (1 + cosine), 1 / (1 + cosine)], atol=1e-6)


def test_confidence_by_hand() -> None:
    louder = [2 * LOG3, 0.0, 0.0, 2 * LOG3]  # (9/10, 1/10)
    cohort = cohort_of(SWAPPED, louder, INDIFFERENT)
    weights, metrics = Confidence(ConfidenceParams()).weights(cohort, SENT, side(), 1)
    variances = np.array([2 * 0.25**2, 2 * 0.4**2, 0.0])  # unbiased over two classes
    np.testing.assert_allclose(metrics["confidence/variance"], variances, atol=1e-6)
    np.testing.assert_allclose(weights, variances / variances.sum(), atol=1e-6)
    on_views, _ = Confidence(ConfidenceParams(on="views")).weights(cohort, SENT, side(), 1)
    np.testing.assert_allclose(on_views, weights, atol=1e-6)


def test_plain_confidence_needs_no_augmentation() -> None:
    bare = side()
    bare.augment = None
    weights, _ = Confidence(ConfidenceParams()).weights(cohort_of(SWAPPED, STEADY), SENT, bare, 1)
    np.testing.assert_allclose(weights, [0.5, 0.5], atol=1e-6)
    with pytest.raises(ConfigError, match="no augmentation"):
        Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), SENT, bare, 1)


def test_nobody_confident_is_weighed_by_size(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        weights, _ = Confidence(ConfidenceParams()).weights(cohort_of(INDIFFERENT, INDIFFERENT), SENT, side(), 1)
    np.testing.assert_allclose(weights, [0.5, 0.5])
    assert "weighting by size" in caplog.text


@pytest.mark.parametrize("rule", [Similarity(SimilarityParams()), Confidence(ConfidenceParams())])
def test_diverged_clients_and_labels(rule: Any) -> None:
    weights, _ = rule.weights(cohort_of(SWAPPED, [np.inf] * 4, STEADY), SENT, side(), 1)
    assert weights[1] == 0
    assert weights.sum() == pytest.approx(1)
    nobody, _ = rule.weights(cohort_of([np.inf] * 4, [np.inf] * 4), SENT, side(), 1)
    np.testing.assert_allclose(nobody, [0.5, 0.5])
    labelled = side()
    cast(Any, labelled.target).y = torch.zeros(2)
    with pytest.raises(ConfigError, match="must not see labels"):
        rule.weights(cohort_of(SWAPPED, STEADY), SENT, labelled, 1)
    assert rule.needs_target


def test_running_statistics_of_the_global_model_are_used() -> None:
    normed = side()
    normed.build = cast(Any, lambda: nn.Sequential(nn.BatchNorm1d(2, affine=False, eps=0), nn.Linear(2, 2, bias=False)))
    cohort = cohort_of(SWAPPED, INDIFFERENT)
    normed.buffers = {
        "0.running_mean": np.zeros(2, dtype=np.float32),
        "0.running_var": np.full(2, 0.25, dtype=np.float32),  # doubles the features: logits (2 log 3, 0)
        "0.num_batches_tracked": np.array(1),
    }
    _, metrics = Confidence(ConfidenceParams()).weights(cohort, SENT, normed, 1)
    np.testing.assert_allclose(metrics["confidence/variance"], [2 * 0.4**2, 0.0], atol=1e-5)


def test_more_banks_average_the_same_mean() -> None:
    one, _ = Similarity(SimilarityParams()).weights(cohort_of(SWAPPED, STEADY), SENT, side(), 1)
    three, _ = Similarity(SimilarityParams(n_view_banks=3)).weights(cohort_of(SWAPPED, STEADY), SENT, side(), 1)
    np.testing.assert_allclose(one, three, atol=1e-6)
