"""Figures of personalised models, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fl_strategies.population.personal_scores import personal_record, worst_decile


@pytest.mark.parametrize(("clients", "expected"), [(1, 0.0), (10, 0.0), (11, 0.5), (30, 1.0)])
def test_the_worst_tenth_is_rounded_up(clients: int, expected: float) -> None:
    assert worst_decile(np.arange(clients)[::-1].astype(float)) == expected


def test_clients_are_in_order_whatever_order_they_answered_in() -> None:
    record = personal_record(
        {
            "b": {"accuracy": 0.9, "accuracy-before": 0.5},
            3: {"accuracy": 0.6, "accuracy-before": 0.4},
            "a": {"accuracy": 0.3, "accuracy-before": 0.0},
        }
    )
    assert record["personal/client_ids"] == [3, "a", "b"]
    assert record["personal/client_accuracy"].tolist() == [0.6, 0.3, 0.9]
    assert record["personal/client_before"].tolist() == [0.4, 0.0, 0.5]
    assert record["personal/accuracy"] == pytest.approx(0.6) and record["personal/before"] == pytest.approx(0.3)
    assert record["personal/std"] == pytest.approx(math.sqrt(0.06)) and record["personal/worst_decile"] == 0.3
    assert math.isnan(personal_record({0: {"accuracy": 1.0}})["personal/before"])
