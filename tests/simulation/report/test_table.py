"""The comparison of configurations as a table."""

from __future__ import annotations

import numpy as np
import pytest

from simulation.report.table import HEADINGS, comparison_table, duration
from tests.runs.made_runs import record


def test_comparison_table_has_mean_and_sample_deviation_of_the_runs() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 5: 0.7, 6: 0.6}), record("fedavg", 2, {0: 0.1, 6: 0.8})]
    first, second = comparison_table([*runs, record("local", 1, {})])
    assert first.final == pytest.approx((0.7, 0.2 / np.sqrt(2)))
    assert first.best == pytest.approx((0.75, 0.1 / np.sqrt(2)))
    assert first.cells() == ["fedavg", "1, 2", "70.00 ± 14.14 %", "75.00 ± 7.07 %", "6", "–", "–"]
    assert second.cells() == ["local", "1", "–", "–", "0", "–", "–"]
    assert len(HEADINGS) == len(first.cells())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.26, "0.3 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7325, "2 h 02 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
