"""How unequal clients are served, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fl_strategies.population.personal_scores import personal_record, worst_decile


@pytest.mark.parametrize(("clients", "worst"), [(1, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_the_worst_decile_is_the_mean_of_a_tenth_rounded_up(clients: int, worst: int) -> None:
    accuracies = np.random.default_rng(clients).permutation(clients) / 100
    assert worst_decile(accuracies) == pytest.approx(sum(range(worst)) / worst / 100)


def test_a_record_is_in_the_order_of_the_clients() -> None:
    scores = {10: {"accuracy": 0.5, "accuracy-before": 0.25}, "a": {"accuracy": 0.3}, 2: {"accuracy": 1.0}}
    record = personal_record(scores)
    assert record["personal/client_ids"] == [2, 10, "a"]
    assert record["personal/client_accuracy"].tolist() == [1.0, 0.5, 0.3]
    assert record["personal/accuracy"] == pytest.approx(0.6)
    assert record["personal/std"] == pytest.approx(np.sqrt((0.16 + 0.01 + 0.09) / 3))
    assert record["personal/worst_decile"] == pytest.approx(0.3)
    assert np.isnan(record["personal/client_before"][[0, 2]]).all() and record["personal/client_before"][1] == 0.25
