"""Seeds: a function of seed, purpose and parts, the same on every machine, and different for each of them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fl_config.seeds import derive, rng, seeded, torch_generator


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


def test_the_generator_of_the_device_itself_is_seeded_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two GPUs, while the first is the current one; a stand-in for torch.cuda, which needs a GPU."""
    states = {0: 11, 1: 22}
    current = [0]

    @contextlib.contextmanager
    def entered(place: torch.device) -> Iterator[None]:
        before, current[0] = current[0], place.index
        yield
        current[0] = before

    cuda = SimpleNamespace(
        device=entered,
        get_rng_state=lambda place: states[place.index],
        set_rng_state=lambda state, place: states.update({place.index: state}),
        manual_seed=lambda value: states.update({current[0]: value}),
    )
    monkeypatch.setattr(torch, "get_device_module", lambda _: cuda)
    with seeded(3, "x", device=torch.device("cuda", 1)):
        assert states == {0: 11, 1: derive(3, "x")}
    assert states == {0: 11, 1: 22}
