"""Cohorts by client id: reproducible, of the right size, independent of who connected first."""

from __future__ import annotations

import math
import random

import pytest

from fl_config.seeds import rng
from fl_strategies.sampling import ordered, sample_cohort, spare_clients


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


@pytest.mark.parametrize("sampler", ["fixed", "bernoulli"])
def test_cohorts_and_spares_are_those_of_the_plain_definition(sampler: str) -> None:
    """Sorted ids, indices drawn among them; spares drawn among the sorted rest."""
    for count, fraction, share in [(40, 0.2, 0.5), (23, 0.9, 1.0), (12_000, 0.004, 0.3), (12_000, 0.05, 0.02)]:
        ids: list[int | str] = [*range(count - 3), "a", "b", "c"]
        generator = rng(5, "cohort", 2)
        if sampler == "bernoulli":
            expected = [client for client, draw in zip(ids, generator.random(count), strict=True) if draw <= fraction]
        else:
            expected = [
                ids[i] for i in sorted(generator.choice(count, size=int(fraction * count + 1e-9), replace=False))
            ]
        cohort = sample_cohort(reversed(ids), fraction, 5, 2, sampler)
        assert cohort == expected
        rest = [client for client in ids if client not in set(cohort)]
        wanted = min(len(rest), math.ceil(share * len(cohort) - 1e-9))
        drawn = rng(5, "spare clients", 2).choice(len(rest), size=wanted, replace=False)
        assert spare_clients(ids, cohort, share, 5, 2) == [rest[i] for i in sorted(drawn)]


def test_ids_that_are_in_order_are_not_sorted_again() -> None:
    known = ordered(["b", 3, "a", 1])
    assert list(known) == [1, 3, "a", "b"] and ordered(known) is known
    assert ordered(numbers := range(10**12)) is numbers
    assert list(ordered(range(3, 0, -1))) == [1, 2, 3]
    assert all(type(client) is int for client in sample_cohort(range(10**12), 1e-11, 0, 1))
