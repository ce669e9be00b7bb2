"""The one scalar that FedDisco asks of a client."""

from __future__ import annotations

import math

import pytest

from clients.answers import number_of
from tests.clients.answers.two_classes import facts


def test_the_distance_of_the_classes_from_a_target_by_hand() -> None:
    # Shares 3/4, 1/4, 0 against 1/3 each.
    uniform = 0.75 * math.log(0.75 * 3) + 0.25 * math.log(0.25 * 3)
    assert number_of("discrepancy", facts()) == pytest.approx(uniform)
    assert number_of("discrepancy", facts(), {"metric": "kl", "target": None}) == pytest.approx(uniform)
    given = {"metric": "kl", "target": [0.5, 0.25, 0.25]}
    assert number_of("discrepancy", facts(), given) == pytest.approx(0.75 * math.log(1.5))
    assert number_of("discrepancy", facts(), {"metric": "l1", "target": [0.75, 0.25, 0.0]}) == pytest.approx(0)
