"""AFL: the simplex projection against an independent oracle, and the ascent of lambda by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.afl import LAMBDA, Afl, AflParams, project_simplex

vectors = st.lists(st.floats(-3, 3), min_size=1, max_size=12)


def projection_by_bisection(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """The threshold t with sum max(v - t, 0) = 1, searched instead of sorted."""
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    nearest: NDArray[np.float64] = np.maximum(v - (low + high) / 2, 0)
    return nearest


def projection_by_grid(v: NDArray[np.float64], steps: int = 60) -> NDArray[np.float64]:
    """Brute force: the nearest point of a fine grid on the simplex in three dimensions."""
    grid = [(i / steps, j / steps, 1 - (i + j) / steps) for i in range(steps + 1) for j in range(steps + 1 - i)]
    return np.array(min(grid, key=lambda x: float(np.square(np.array(x) - v).sum())))


def test_known_points() -> None:
    np.testing.assert_allclose(project_simplex([0.5, 0.5]), [0.5, 0.5])
    np.testing.assert_allclose(project_simplex([1.2, 0.15]), [1.0, 0.0], atol=1e-12)  # a test on k < j gives sum 1.05
    np.testing.assert_allclose(project_simplex([2.0, 2.0, -5.0]), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(project_simplex([0.6, 0.6, 0.1]), [0.5, 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(project_simplex([1e12 + 0.25, 1e12]), [0.625, 0.375], atol=1e-3)
    assert project_simplex([-4.0]).tolist() == [1.0]


@given(vectors)
def test_against_bisection(given_vector: list[float]) -> None:
    v = np.array(given_vector)
    projected = project_simplex(v)
    np.testing.assert_allclose(projected, projection_by_bisection(v), atol=1e-9)
    assert projected.sum() == pytest.approx(1, abs=1e-12)
    assert (projected >= 0).all()
    np.testing.assert_allclose(project_simplex(projected), projected, atol=1e-12)
    order = np.argsort(v, kind="stable")
    assert (np.diff(projected[order]) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_against_brute_force(seed: int) -> None:
    v = np.random.default_rng(seed).normal(size=3)
    np.testing.assert_allclose(project_simplex(v), projection_by_grid(v), atol=1.5 / 60)


def test_wrong_vectors() -> None:
    for wrong in ([], [math.nan], [[1.0]]):
        with pytest.raises(ConfigError, match="finite numbers"):
            project_simplex(wrong)


SERVER = ServerResources.nothing()


def cohort_of(ids: list[ClientId], population: list[ClientId], losses: list[float]) -> Cohort:
    return Cohort(
        round=1,
        ids=ids,
        sizes=np.full(len(ids), 10.0),
        updates=np.zeros((len(ids), 2), dtype=np.float32),
        population=Population(dict.fromkeys(population, 10)),
        metrics={"initial_loss": np.array(losses)},
    )


def test_weights_use_lambda_before_its_step() -> None:
    afl = Afl(AflParams(lr=0.1))
    cohort = cohort_of([0, 1], [0, 1], [1.0, 2.0])
    first, state, _ = afl.weights(cohort, {}, SERVER)
    assert first.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(state[LAMBDA], [0.45, 0.55])  # (0.6, 0.7) less 0.15 each
    second, _, _ = afl.weights(cohort, state, SERVER)
    np.testing.assert_allclose(second, [0.45, 0.55])


def test_the_state_that_came_in_is_never_changed() -> None:
    given = {LAMBDA: np.array([0.25, 0.75]), "sum:other": np.array([3])}
    kept = given[LAMBDA]
    _, state, _ = Afl(AflParams(lr=0.1)).weights(cohort_of([0, 1], [0, 1], [2.0, 1.0]), given, SERVER)
    assert given.keys() == {LAMBDA, "sum:other"} and given[LAMBDA] is kept and kept.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(state[LAMBDA], [0.3, 0.7])  # (0.45, 0.85) less 0.15 each
    assert state["sum:other"].tolist() == [3]


def test_equal_losses_change_nothing() -> None:
    cohort = cohort_of([0, 1, 2], [0, 1, 2], [1.7, 1.7, 1.7])
    _, state, _ = Afl(AflParams(lr=0.3)).weights(cohort, {}, SERVER)
    np.testing.assert_allclose(state[LAMBDA], np.full(3, 1 / 3))


def test_partial_participation_by_sorted_ids() -> None:
    afl = Afl(AflParams(lr=0.1))
    population: list[ClientId] = ["b", 10, 2, "a"]  # in order: 2, 10, a, b
    weights, state, metrics = afl.weights(cohort_of([10, "b"], population, [1.0, 2.0]), {}, SERVER)
    assert weights.tolist() == [0.5, 0.5]
    # lambda = 1/4 + 0.1 (4/2) (0, 1, 0, 2) = (.25, .45, .25, .65); the threshold is .6/4 = .15
    np.testing.assert_allclose(state[LAMBDA], [0.1, 0.3, 0.1, 0.5])
    np.testing.assert_allclose(metrics["afl/lambda"], [0.3, 0.5])
    weights, _, _ = afl.weights(cohort_of([2, "b"], population, [0.0, 0.0]), state, SERVER)
    np.testing.assert_allclose(weights, [1 / 6, 5 / 6])


def test_everyone_at_zero_is_weighed_equally() -> None:
    state = {LAMBDA: np.array([0.0, 0.0, 1.0])}
    weights, _, _ = Afl(AflParams()).weights(cohort_of([0, 1], [0, 1, 2], [1.0, 1.0]), state, SERVER)
    assert weights.tolist() == [0.5, 0.5]


def test_a_diverged_client_does_not_poison_lambda() -> None:
    cohort = cohort_of([0, 1, 2], [0, 1, 2], [1.0, math.nan, 2.0])
    _, state, _ = Afl(AflParams(lr=0.1)).weights(cohort, {}, SERVER)
    assert np.isfinite(state[LAMBDA]).all()
    assert state[LAMBDA][1] == state[LAMBDA][2] > state[LAMBDA][0]


def test_a_grown_population_starts_anew() -> None:
    state = {LAMBDA: np.array([0.2, 0.8])}
    weights, _, _ = Afl(AflParams()).weights(cohort_of([0, 1, 2], [0, 1, 2], [1.0, 1.0, 1.0]), state, SERVER)
    np.testing.assert_allclose(weights, np.full(3, 1 / 3))


def test_a_missing_loss_is_a_sentence() -> None:
    cohort = cohort_of([0], [0], [1.0])
    cohort.metrics.clear()
    with pytest.raises(ConfigError, match="initial_loss"):
        Afl(AflParams()).weights(cohort, {}, SERVER)
    assert Afl.reports == ("initial_loss",)
