"""The loss that AFL climbs on: at the model that came, before any training."""

from __future__ import annotations

import math

import pytest

from clients.answers import number_of
from tests.clients.answers.two_classes import facts


def test_the_mean_loss_at_the_received_model_by_hand() -> None:
    assert number_of("initial_loss", facts()) == pytest.approx(math.log(3), abs=1e-6)
    # Softmax of (log 6, log 3, 0) is (6/10, 3/10, 1/10); three examples of the first class and one of the second.
    told = number_of("initial_loss", facts((math.log(6), math.log(3), 0.0)))
    assert told == pytest.approx(-(3 * math.log(0.6) + math.log(0.3)) / 4, abs=1e-6)


def test_asking_trains_nothing() -> None:
    known = facts((1.0, 2.0, 3.0))
    before = known.flat.vector().tobytes()
    number_of("initial_loss", known)
    assert known.flat.vector().tobytes() == before
