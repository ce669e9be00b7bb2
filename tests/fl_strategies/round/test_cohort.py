"""Population and cohort: relative sizes, shares, step counts, sums in float64."""

from __future__ import annotations

import numpy as np
import pytest

from fl_strategies.round.cohort import Cohort, Population, norm, weighted_sum

POPULATION = Population({0: 10, 1: 20, "site": 60})


def test_sizes_are_relative_to_the_mean() -> None:
    assert POPULATION.count == 3 and POPULATION.mean_size == 30
    assert [POPULATION.relative_size(client) for client in (0, 1, "site")] == pytest.approx([1 / 3, 2 / 3, 2])
    assert Population({}).mean_size == 0


@pytest.mark.parametrize(("epochs", "batch", "steps"), [(1, 30, 1), (2, 29, 4), (5, 8, 20), (5, 0, 5)])
def test_the_global_step_count_is_that_of_the_mean_client(epochs: int, batch: int, steps: int) -> None:
    assert POPULATION.steps(epochs, batch) == steps


def test_shares_are_of_the_cohort_and_not_of_the_population() -> None:
    updates = np.zeros((2, 1), dtype=np.float32)
    assert Cohort(1, [0, 1], np.array([10.0, 20.0]), updates, POPULATION).share.tolist() == [1 / 3, 2 / 3]


def test_sums_and_norms_are_in_double_precision() -> None:
    rows = np.array([[1e8, 1.0], [1.0, 2.0], [-1e8, 3.0]], dtype=np.float32)
    total = weighted_sum(np.array([1.0, 0.5, 1.0]), rows)
    assert total.dtype == np.float64 and total.tolist() == [0.5, 5.0]
    silent = np.array([[np.inf], [2.0]], dtype=np.float32)
    assert weighted_sum(np.array([0.0, 1.0]), silent).tolist() == [2.0]  # weight 0 keeps a diverged client out
    with pytest.raises(ValueError, match="longer"):
        weighted_sum(np.ones(2), rows)
    assert norm(np.array([3e30, 4e30], dtype=np.float32)) == pytest.approx(5e30, rel=1e-6)


def test_rows_follow_the_order_of_clients_and_are_looked_up_once() -> None:
    population = Population({"b": 1, 10: 1, 2: 1, "a": 1})
    assert list(population.ids) == [2, 10, "a", "b"] and population.rows([10, "b"]).tolist() == [1, 3]
    assert population.ids is population.ids
