"""The comparison of configurations as a table."""

from __future__ import annotations

import numpy as np
import pytest

from simulation.report.table import comparison, duration
from tests.runs.made_runs import record
from tests.simulation.report.headline_runs import scored


def test_comparison_table_has_mean_and_sample_deviation_of_the_runs() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 5: 0.7, 6: 0.6}), record("fedavg", 2, {0: 0.1, 6: 0.8})]
    table = comparison([*runs, record("local", 1, {})])
    first = table.rows[0]
    assert first.final == pytest.approx((0.7, 0.2 / np.sqrt(2)))
    assert first.best == pytest.approx((0.75, 0.1 / np.sqrt(2)))
    assert table.cells() == [
        ["fedavg", "1, 2", "70.00 ± 14.14 %", "75.00 ± 7.07 %", "6", "–", "–", "–"],
        ["local", "1", "–", "–", "0", "–", "–", "–"],
    ]
    headings = ["Strategy", "Seeds", "Final accuracy", "Best accuracy", "Rounds", "MB", "Time"]
    assert table.headings == [*headings, "Against fedavg"]
    alone = comparison(runs)
    assert alone.headings == headings and len(alone.cells()[0]) == len(headings)


def test_the_table_goes_by_the_headline_and_the_best_error_is_the_least() -> None:
    runs = [scored("fedavg", "rmse", values, better="less", seed=s) for s, values in enumerate([[9, 5, 7], [9, 6, 8]])]
    assert comparison(runs).headings[2:4] == ["Final rmse", "Best rmse"]
    (row,) = comparison(runs).rows
    assert row.cells()[2:4] == ["7.500 ± 0.707", "5.500 ± 0.707"]
    (row,) = comparison([scored("fedavg", "auroc", [0.5, 0.91, 0.9003851])]).rows
    assert row.cells()[2:4] == ["0.9004", "0.9100"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.26, "0.3 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7325, "2 h 02 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_was_varied_is_an_option_or_a_parameter_that_its_owners_differ_in() -> None:
    runs = [
        record("fedavg", 0, {1: 0.1}, lr=0.1),
        record("fedavg", 0, {1: 0.1}, lr=0.2),
        record("feddisco", 0, {1: 0.1}, lr=0.1, disco={"a": 0.1, "b": 0.1}),
        record("feddisco", 0, {1: 0.1}, lr=0.2, disco={"a": 0.5, "b": 0.1}),
    ]
    settings = [row.settings for row in comparison(runs).rows]
    assert settings[0] == {"lr": "0.1", "disco.a": ""} and settings[3] == {"lr": "0.2", "disco.a": "0.5"}


def test_configurations_are_tested_against_the_same_options_of_the_baseline() -> None:
    runs = [
        record(name, seed, {1: 0.5 + gain + lr * seed**2 * (0.1 + gain)}, lr=lr)
        for name, gain in (("fedavg", 0.0), ("feddisco", 0.1))
        for lr in (0.1, 0.2)
        for seed in range(3)
    ]
    rows = comparison(runs).rows
    assert [row.against and row.against.baseline for row in rows] == [
        None,
        None,
        "fedavg · lr=0.1",
        "fedavg · lr=0.2",
    ]
    other = comparison(runs, "feddisco · lr=0.2")
    assert other.headings[-1] == "Against feddisco · lr=0.2"
    assert [row.against is None for row in other.rows] == [False, False, False, True]
