"""Cohorts by client id: reproducible, of the right size, independent of who connected first."""

from __future__ import annotations

import random

import pytest

from fl_strategies.sampling import sample_cohort, spare_clients


def test_order_of_connection_does_not_matter() -> None:
    ids: list[int | str] = [*range(20), "site-a", "site-b"]
    shuffled = ids[:]
    random.Random(1).shuffle(shuffled)
    assert sample_cohort(ids, 0.5, 3, 7) == sample_cohort(shuffled, 0.5, 3, 7)


def test_rounds_and_seeds_differ() -> None:
    draws = {tuple(sample_cohort(range(50), 0.2, seed, round)) for seed in range(3) for round in range(1, 6)}
    assert len(draws) == 15


@pytest.mark.parametrize(
    ("count", "fraction", "expected"), [(100, 0.29, 29), (100, 0.1, 10), (7, 0.01, 1), (5, 1.0, 5)]
)
def test_fixed_size(count: int, fraction: float, expected: int) -> None:
    cohort = sample_cohort(range(count), fraction, 0, 1)
    assert len(cohort) == len(set(cohort)) == expected


def test_bernoulli_has_the_right_rate_and_is_never_empty() -> None:
    sizes = [len(sample_cohort(range(100), 0.1, 0, round, "bernoulli")) for round in range(1, 301)]
    assert 9 < sum(sizes) / len(sizes) < 11
    assert len(set(sizes)) > 5
    assert all(sample_cohort(range(2), 0.01, 0, round, "bernoulli") for round in range(1, 50))


def test_spare_clients_are_others_and_a_function_of_seed_and_round() -> None:
    cohort = sample_cohort(range(20), 0.5, 3, 1)
    spare = spare_clients(range(20), cohort, 0.3, 3, 1)
    assert len(spare) == 3 and not set(spare) & set(cohort)
    assert spare == spare_clients(reversed(range(20)), cohort, 0.3, 3, 1)
    assert spare_clients(range(20), cohort, 0.0, 3, 1) == []
    assert len(spare_clients(range(20), cohort, 5.0, 3, 1)) == 10
