"""Placing clients: the first together, later ones against the borders those set; what a checkpoint keeps of it."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_protocol.types import ClientId
from fl_strategies.clustering.cuau import CuauParams, cuau_scores
from fl_strategies.clustering.placement import Placement, Probe


def probe(client: ClientId, *update: float, size: int = 1, steps: int = 1, checksum: int = 5) -> Probe:
    return Probe(client, np.array(update), size, steps, checksum)


FIRST = [probe("a", 0.0, 0.0), probe("b", 1.0, 0.0), probe(7, 4.0, 4.0), probe(8, -9.0, 0.0)]


def founded() -> Placement:
    placement = Placement()
    placement.add(FIRST, CuauParams())
    return placement


def test_first_clients_are_placed_by_their_scores() -> None:
    placement = founded()
    expected = cuau_scores([p.update for p in FIRST], [1, 1, 1, 1])
    np.testing.assert_allclose(list(placement.scores.values()), expected)
    assert placement.clusters == {"a": 1, "b": 1, 7: 2, 8: 2}


def test_a_late_client_moves_nobody() -> None:
    placement = founded()
    before = dict(placement.clusters)
    placement.add([probe("late", -1.0, 1.0), probe("later", 50.0, 0.0)], CuauParams())
    assert placement.clusters == {**before, "late": 1, "later": 2}


def test_updates_may_be_divided_by_their_steps() -> None:
    placement = Placement()
    placement.add([probe(0, 10.0, steps=10), probe(1, 3.0, steps=1)], CuauParams(normalise_cu=True))
    np.testing.assert_allclose([placement.scores[0], placement.scores[1]], [1.0, 1.0])


def test_a_checkpoint_has_all_of_it() -> None:
    placement = founded()
    again = Placement.read(placement.write())
    assert (again.clusters, again.scores) == (placement.clusters, placement.scores)
    for one in (placement, again):
        one.add([probe("late", 3.0, 1.0)], CuauParams())
    assert again.scores["late"] == placement.scores["late"]
    assert Placement.read(Placement().write()) == Placement()


def test_who_started_from_another_model_is_not_comparable() -> None:
    odd = probe("odd", 1.0, 1.0, checksum=6)
    good, other = Placement().comparable([odd, *FIRST])
    assert (good, other) == (FIRST, [odd])
    assert founded().comparable([odd]) == ([], [odd])


def test_too_few_first_clients_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="2 clusters need as many clients, but only 1 could be measured"):
        Placement().add(FIRST[:1], CuauParams())
