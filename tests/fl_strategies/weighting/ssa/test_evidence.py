"""The evidence of one round: cached or fresh views, mixed logits, models that are too loud or not finite."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from fl_strategies.weighting.ssa import learn_weights
from tests.fl_strategies.weighting.ssa.known_logits import LEARN
from tests.fl_strategies.weighting.ssa.linear_round import CLASSES, FEATURES, SENT, cohort_of, side_of, ssa


def test_cached_banks_and_fresh_views_agree() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    fresh, _, _ = ssa(n_view_banks=0, epochs=4).customised(cohort, {}, side_of())
    every_epoch, _, _ = ssa(n_view_banks=4, epochs=4).customised(cohort, {}, side_of())
    np.testing.assert_array_equal(fresh, every_epoch)
    once, _, _ = ssa(n_view_banks=9, epochs=1).customised(cohort, {}, side_of())
    np.testing.assert_array_equal(once, ssa(n_view_banks=0, epochs=1).customised(cohort, {}, side_of())[0])


def test_a_round_learns_on_the_mixed_logits_of_its_models() -> None:
    """Views that change nothing make the round equal to learn_weights on logits computed here."""
    cohort = cohort_of([0, 1, 3])
    side = replace(side_of(), augment=cast(Any, lambda x, generator: x))
    learned, _, metrics = ssa(batch=0, epochs=6).customised(cohort, {}, side)
    weights = (SENT + cohort.updates)[:, : CLASSES * FEATURES].reshape(3, CLASSES, FEATURES)
    x = cast(Any, side.target).x.numpy()
    logits = np.einsum("kcf,nf->knc", weights, x)
    expected = learn_weights(logits, logits, **{**LEARN, "epochs": 6, "batch_size": 0})
    np.testing.assert_allclose(learned, expected, atol=1e-5)
    np.testing.assert_allclose(metrics["ssa/cosine"], np.ones(3), atol=1e-6)


def test_a_diverged_client_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cohort = cohort_of([0, 1, 2, 3])
    cohort.updates[2] = 3e38
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        weights, _, metrics = ssa().customised(cohort, {}, side_of())
    assert weights[2] == 0
    assert weights.sum() == pytest.approx(1)
    assert weights.argmax() == 1
    assert "client 2" in caplog.text
    assert metrics["ssa/variance"][2] == 0
    cohort.updates[:] = 3e38
    fallback, _, _ = ssa().customised(cohort, {}, side_of())
    np.testing.assert_allclose(fallback, cohort.share)


def test_scaling_makes_loud_models_equal() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    cohort.updates[0] = cohort.updates[1] * 0.5
    cohort.updates[1] *= 0.1  # the same opinion, a fifth as loud
    loud, _, _ = ssa(lambda_var=10).customised(cohort, {}, side_of())
    scaled, _, _ = ssa(lambda_var=10, scale="std").customised(cohort, {}, side_of())
    assert loud[0] > loud[1] + 0.05
    assert scaled[0] == pytest.approx(scaled[1], abs=1e-4)
