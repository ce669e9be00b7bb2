"""FedSSA in a round: its modes, its starting points, its running average."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from pydantic import ValidationError

from fl_strategies.weighting.ssa import Ssa, SsaParams
from tests.fl_strategies.weighting.ssa.linear_round import cohort_of, side_of, ssa


def test_customise_sends_sizes_and_keeps_the_learned() -> None:
    weighting, side, cohort = ssa(), side_of(), cohort_of([0, 1, 2, 3])
    out, state, _ = weighting.weights(cohort, {}, side)
    assert state == {}
    np.testing.assert_allclose(out, [0.1, 0.2, 0.3, 0.4])
    own, state, metrics = weighting.customised(cohort, {}, side)
    assert own.argmax() == 1
    assert own.sum() == pytest.approx(1)
    assert metrics["ssa/weights"] == own.tolist()
    assert np.argmax(metrics["ssa/variance"]) == 1
    assert len(metrics["ssa/cosine"]) == 4
    assert {"ssa/loss_cos", "ssa/loss_var", "ssa/loss_we", "ssa/seconds_forward", "ssa/seconds_learn"} <= metrics.keys()
    assert metrics["ssa/loss_we"] == pytest.approx(float((own * np.log(own)).sum()), abs=1e-6)
    assert state == {}
    assert Ssa.needs_target
    assert weighting.needs_target
    assert weighting.asks == ()


def test_modes_say_when_the_server_forms_its_own_model() -> None:
    assert [ssa(warmup_rounds=1).customises(r, 3) for r in (1, 2, 3)] == [False, True, True]
    assert [ssa(mode="post_hoc").customises(r, 3) for r in (1, 2, 3)] == [False, False, True]
    assert not ssa(mode="every_round").customises(3, 3)
    assert not ssa(mode="sample_wise").needs_target
    assert not ssa(mode="sample_wise").customises(3, 3)


def test_every_round_sends_the_learned_after_the_warmup() -> None:
    weighting, side = ssa(mode="every_round", warmup_rounds=1, steps_min=60), side_of()
    first, _, _ = weighting.weights(cohort_of([0, 1, 2, 3]), {}, side)
    np.testing.assert_allclose(first, [0.1, 0.2, 0.3, 0.4])
    second, _, _ = weighting.weights(cohort_of([0, 1, 2, 3], round=2), {}, side)
    assert second.argmax() == 1
    assert second[1] > 0.4


def test_a_round_is_a_function_of_the_seed() -> None:
    cohort = cohort_of([0, 1, 2, 3])
    options = {"batch": 16, "max_samples": 40}
    weights = [ssa(**options).customised(cohort, {}, side_of())[0].tobytes() for _ in range(2)]
    assert weights[0] == weights[1]
    assert ssa(**options).customised(cohort, {}, side_of(seed=6))[0].tobytes() != weights[0]


def test_partial_participation_and_one_client() -> None:
    partial, _, _ = ssa().customised(cohort_of([1, 3]), {}, side_of())
    assert partial.shape == (2,)
    assert partial[0] > partial[1]
    alone, _, metrics = ssa().customised(cohort_of([3]), {}, side_of())
    assert alone.tolist() == [1.0]
    assert metrics == {"ssa/weights": [1.0]}


def test_running_average_by_client() -> None:
    side, weighting = side_of(), ssa(average=0.5, batch=16)
    first, state, _ = weighting.customised(cohort_of([0, 1]), {}, side)
    unaveraged, _, _ = ssa(batch=16).customised(cohort_of([0, 1]), {}, side_of())
    np.testing.assert_allclose(first, unaveraged, atol=1e-15)
    given = {name: value.copy() for name, value in state.items()}
    second, following, _ = weighting.customised(cohort_of([1, 2, 3], good=3, round=2), state, side)
    assert state.keys() == given.keys() == {"weight_sum", "evidence"}
    assert all(np.array_equal(state[name], value) for name, value in given.items())  # never changed in place
    raw, _, _ = ssa(batch=16).customised(cohort_of([1, 2, 3], good=3, round=2), {}, side_of())
    # Client 1 has seen two rounds, 2 w in the first and 3 w in the second with evidence .25 and .5; the others one.
    mean = np.array([(0.25 * 2 * first[1] + 0.5 * 3 * raw[0]) / 0.75, 3 * raw[1], 3 * raw[2]])
    np.testing.assert_allclose(second, mean / mean.sum(), atol=1e-12)
    assert following["evidence"].tolist() == [0.5, 0.75, 0.5, 0.5]


def test_starting_points(caplog: pytest.LogCaptureFixture) -> None:
    cohort, still = cohort_of([0, 1, 2, 3]), {"lr": 1e-12}
    by_size, _, _ = ssa(init="size", **still).customised(cohort, {}, side_of())
    np.testing.assert_allclose(by_size, [0.1, 0.2, 0.3, 0.4], atol=1e-9)
    weighting = ssa(init="disco", **still)
    assert weighting.asks == ("discrepancy",)
    by_disco, _, _ = weighting.customised(cohort, {}, side_of())
    raw = np.array([0.1, 0.2, 0.3, 0.4]) - 0.5 * np.array([0.1, 0.2, 0.3, 0.4]) + 0.1
    np.testing.assert_allclose(by_disco, raw / raw.sum(), atol=1e-9)
    side = side_of()
    once, state, _ = ssa(warm_start=True).customised(cohort, {}, side)
    last = state["last"].copy()
    kept, _, _ = ssa(warm_start=True, **still).customised(replace(cohort, round=2), state, side)
    np.testing.assert_allclose(kept, once, atol=1e-9)
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        again, _, _ = ssa(warm_start=True, **still).customised(cohort_of([0, 1], round=3), state, side)
    np.testing.assert_allclose(again, [0.5, 0.5], atol=1e-9)
    assert "2 of 4 replied" in caplog.text
    np.testing.assert_array_equal(state["last"], last)  # never changed in place


def test_options_have_ranges() -> None:
    for wrong in ({"average": 1.0}, {"mode": "always"}, {"lr": 0}, {"epochs": 0}, {"momentum": 1}, {"batch_size": 3}):
        with pytest.raises(ValidationError):
            SsaParams(**cast(Any, wrong))
    assert all(field.description for field in SsaParams.model_fields.values())
