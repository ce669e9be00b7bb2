"""Seeds: a function of seed, purpose and parts, the same on every machine, and different for each of them."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from fl_config.seeds import derive, rng, torch_generator


def test_seeds_are_those_of_every_run_so_far() -> None:
    # SHA-256 of the words, so that no library can change them.
    assert derive(0, "batches", 1, 2) == 735451336243591288
    assert derive(7, "cohort") == 3448936024437997286


def test_no_two_purposes_rounds_or_clients_share_a_seed() -> None:
    words = [
        (0, "a"),
        (1, "a"),
        (0, "b"),
        (0, "a", 1),
        (0, "a", 1, 2),
        (0, "a", 12),
        (0, "a1"),
        (0, "a", 1, "2 "),
        (0, "a", "x"),
    ]
    for one, other in itertools.combinations(words, 2):
        assert derive(*one) != derive(*other), (one, other)  # type: ignore[arg-type]
    assert all(0 <= derive(seed, "a") < 2**63 for seed in range(200))


def test_generators_repeat() -> None:
    assert np.array_equal(rng(3, "x", 1).random(5), rng(3, "x", 1).random(5))
    assert not np.array_equal(rng(3, "x", 1).random(5), rng(3, "x", 2).random(5))
    one, again, other = (torch.rand(5, generator=torch_generator(3, "x", part)) for part in (1, 1, 2))
    assert torch.equal(one, again) and not torch.equal(one, other)
