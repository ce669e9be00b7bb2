"""FedSSA by class shares in a round: the client that has the target's classes, against one that is sure of everything."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from fl_config.errors import ConfigError
from fl_models import wrap
from fl_protocol.fixed_point import to_fixed
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.ssa import Ssa, SsaParams
from tests.fl_strategies.weighting.ssa.linear_round import Vectors, jitter

CLASSES = 3
# Sure of class 0 whatever it sees; right about all classes, but less sure; knows nothing.
SURE = (np.zeros((3, 3)), [40.0, 0.0, 0.0])
RIGHT = (3.0 * np.eye(3), [0.0, 0.0, 0.0])
BLANK = (np.zeros((3, 3)), [0.0, 0.0, 0.0])


def vector(model: tuple[Any, Any]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.ravel(model[0]), model[1]]).astype(np.float32)


def sums(counts: tuple[int, int, int] = (20, 20, 20)) -> dict[str, np.ndarray[Any, Any]]:
    """As the clients would send them: the features of a linear model are its inputs, and these are one-hot."""
    return {"class_features": np.concatenate([counts, to_fixed(np.diag(counts)).ravel()])}


def server(labels: list[int]) -> ServerResources:
    x = torch.eye(CLASSES)[torch.tensor(labels)]
    return ServerResources(
        build=lambda: wrap(nn.Linear(3, CLASSES)), seed=5, device=torch.device("cpu"),
        target=cast(Any, Vectors(x)), augment=cast(Any, jitter),
    )  # fmt: skip


def cohort(*models: tuple[Any, Any], round: int = 1, **more: Any) -> Cohort:
    sizes: dict[ClientId, int] = {client: 10 for client in range(len(models))}
    return Cohort(
        round=round, ids=list(sizes), sizes=np.full(len(models), 10.0), updates=np.stack([vector(m) for m in models]),
        population=Population(sizes), sent=vector(BLANK), **{"sums": sums(), **more},
    )  # fmt: skip


TARGET = server([1, 2] * 30)


def shares(**options: Any) -> Ssa:
    return Ssa(SsaParams(criterion="shares", **options))


def test_it_finds_the_client_with_the_targets_classes_where_views_prefer_the_sure_one() -> None:
    round = cohort(SURE, RIGHT, BLANK)
    by_views, _, _ = Ssa(SsaParams()).customised(round, {}, TARGET)
    assert by_views.argmax() == 0
    weights, state, metrics = shares().customised(round, {}, TARGET)
    assert weights.argmax() == 1
    assert weights[1] > 0.8
    np.testing.assert_allclose(metrics["ssa/shares"], [0, 0.5, 0.5], atol=0.01)
    assert metrics["ssa/shares_residual"] < 0.05
    assert metrics["ssa/weights"] == weights.tolist()
    assert state == {}
    assert metrics["ssa/loss_we"] == pytest.approx(float((weights * np.log(weights)).sum()), abs=1e-9)


def test_no_views_are_needed() -> None:
    weights, _, _ = shares().customised(cohort(SURE, RIGHT, BLANK), {}, replace(TARGET, augment=None))
    assert weights.argmax() == 1


def test_sums_are_asked_for_only_where_weights_are_learned() -> None:
    assert Ssa(SsaParams()).round_sums == ()
    assert shares().round_sums == ("class_features",)
    assert [shares(mode="post_hoc").sums_in(r, 3) for r in (1, 2, 3)] == [False, False, True]
    assert [shares(mode="every_round", warmup_rounds=1).sums_in(r, 3) for r in (1, 2, 3)] == [False, True, True]
    first, second = (shares(shares_samples=7).sum_arguments("class_features", round, 5) for round in (1, 2))
    assert first["samples"] == 7
    assert first["seed"] != second["seed"]


def test_every_round_averages_the_shares_and_starts_from_the_best() -> None:
    weighting = shares(mode="every_round", shares_average=0.5, shares_prior=1e-3)
    first, state, _ = weighting.weights(cohort(SURE, RIGHT, BLANK), {}, TARGET)
    assert first.argmax() == 1
    assert state["last"].tolist() == first.tolist()
    np.testing.assert_allclose(state["shares"] / state["shares_mass"], [0, 0.5, 0.5], atol=0.01)
    other = server([0] * 60)
    second, following, metrics = weighting.weights(cohort(SURE, RIGHT, BLANK, round=2), state, other)
    # Evidence .25 of (0, 1/2, 1/2) and .5 of (1, 0, 0).
    np.testing.assert_allclose(metrics["ssa/shares"], [2 / 3, 1 / 6, 1 / 6], atol=0.01)
    assert following["shares_mass"].tolist() == [0.75]
    assert state["shares_mass"].tolist() == [0.5]  # never changed in place
    assert second.sum() == pytest.approx(1)
    # One step that moves nothing tells where learning started.
    still = {"shares_lr": 1e-12, "shares_steps": 1}
    begun, _, _ = shares(starts="best", **still).customised(cohort(SURE, RIGHT, BLANK), {}, TARGET)
    assert begun.argmax() == 1
    assert begun[1] > 0.98
    equal, _, _ = shares(**still).customised(cohort(SURE, RIGHT, BLANK), {}, TARGET)
    np.testing.assert_allclose(equal, [1 / 3] * 3, atol=1e-9)


def test_the_shares_are_those_of_as_many_samples_as_are_asked_for() -> None:
    mostly = server([0] * 10 + [1] * 30)
    told = [shares(shares_fit=samples).customised(cohort(SURE, RIGHT, BLANK), {}, mostly)[2] for samples in (0, 40, 7)]
    assert told[0]["ssa/shares"] == told[1]["ssa/shares"] != told[2]["ssa/shares"]
    np.testing.assert_allclose(told[0]["ssa/shares"], [0.25, 0.75, 0], atol=0.02)


def test_a_diverged_client_gets_nothing() -> None:
    broken = (np.full((3, 3), 1e31), [0.0, 0.0, 0.0])
    weights, _, _ = shares().customised(cohort(SURE, RIGHT, broken), {}, TARGET)
    assert weights[2] == 0
    assert weights.argmax() == 1


def test_without_a_sum_it_weighs_by_size(caplog: pytest.LogCaptureFixture) -> None:
    weights, state, metrics = shares().customised(cohort(SURE, RIGHT, BLANK, sums={}), {}, TARGET)
    np.testing.assert_allclose(weights, [1 / 3] * 3)
    assert (state, metrics) == ({}, {})
    assert "weighting by size" in caplog.text


def strange() -> ServerResources:
    """Features that no client's class has."""
    usual = server([0, 1, 2] * 20)
    assert usual.target is not None
    return replace(usual, target=cast(Any, Vectors(usual.target.x + 10.0)))


def test_a_target_unlike_all_classes_is_weighted_by_size_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    weighting, sizes = shares(mode="every_round"), np.array([10.0, 30.0, 60.0])
    _, state, _ = weighting.customised(cohort(SURE, RIGHT, BLANK), {}, TARGET)
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        for round in (2, 3):
            odd = replace(cohort(SURE, RIGHT, BLANK, round=round), sizes=sizes)
            weights, following, metrics = weighting.customised(odd, state, strange())
            np.testing.assert_allclose(weights, [0.1, 0.3, 0.6])
            assert following is state  # shares that mean nothing do not enter the average
    assert metrics["ssa/shares_residual"] > 1
    assert metrics["ssa/weights"] == weights.tolist()
    assert caplog.text.count("no mixture of the clients' classes looks like the target") == 1
    assert "more than 1 away are weighted by size (ssa.shares_trust)" in caplog.text


def test_trust_may_be_widened_or_given_to_every_fit(caplog: pytest.LogCaptureFixture) -> None:
    odd = cohort(SURE, RIGHT, BLANK)
    _, _, metrics = shares(shares_trust=1e6).customised(odd, {}, strange())
    assert "ssa/loss_shares" in metrics
    assert caplog.text == ""
    _, _, metrics = shares(shares_trust=0.0).customised(odd, {}, strange())
    assert "ssa/loss_shares" in metrics
    assert "The weights may be wrong." in caplog.text


def test_sums_of_another_model_are_a_sentence() -> None:
    with pytest.raises(ConfigError, match="must build the same model"):
        shares().customised(cohort(SURE, RIGHT, BLANK, sums={"class_features": np.zeros(9)}), {}, TARGET)
