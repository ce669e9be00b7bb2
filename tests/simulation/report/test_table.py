"""The comparison of configurations as a table."""

from __future__ import annotations

import numpy as np
import pytest

from simulation.report.table import comparison_table, duration, headings_of
from tests.runs.made_runs import record
from tests.simulation.report.headline_runs import scored


def test_comparison_table_has_mean_and_sample_deviation_of_the_runs() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 5: 0.7, 6: 0.6}), record("fedavg", 2, {0: 0.1, 6: 0.8})]
    first, second = comparison_table([*runs, record("local", 1, {})])
    assert first.final == pytest.approx((0.7, 0.2 / np.sqrt(2)))
    assert first.best == pytest.approx((0.75, 0.1 / np.sqrt(2)))
    assert first.cells() == ["fedavg", "1, 2", "70.00 ± 14.14 %", "75.00 ± 7.07 %", "6", "–", "–"]
    assert second.cells() == ["local", "1", "–", "–", "0", "–", "–"]
    headings = ["Strategy", "Seeds", "Final accuracy", "Best accuracy", "Rounds", "MB", "Time"]
    assert headings_of(runs) == headings and len(first.cells()) == len(headings)


def test_the_table_goes_by_the_headline_and_the_best_error_is_the_least() -> None:
    runs = [scored("fedavg", "rmse", values, better="less", seed=s) for s, values in enumerate([[9, 5, 7], [9, 6, 8]])]
    assert headings_of(runs)[2:4] == ["Final rmse", "Best rmse"]
    (row,) = comparison_table(runs)
    assert row.cells()[2:4] == ["7.500 ± 0.707", "5.500 ± 0.707"]
    (row,) = comparison_table([scored("fedavg", "auroc", [0.5, 0.91, 0.9003851])])
    assert row.cells()[2:4] == ["0.9004", "0.9100"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.26, "0.3 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7325, "2 h 02 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
