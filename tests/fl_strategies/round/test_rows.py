"""Rows in memory and rows in a file: the same matrix, the same sums to the bit, in any order of arrival."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_config.seeds import rng
from fl_strategies.round.cohort import weighted_sum
from fl_strategies.round.rows import Rows, Summed

COUNT, DIM = 7, 1000


@pytest.fixture(params=["memory", "file", "both"])
def kept(request: pytest.FixtureRequest) -> tuple[Rows, np.ndarray, list[int]]:
    """Rows that arrive in another order than they are read, and the matrix that they are."""
    limit = {"memory": 10**9, "file": 0, "both": 3 * DIM * 4}[request.param]
    matrix = rng(0, "rows").normal(size=(COUNT, DIM)).astype(np.float32)
    arrival = [4, 0, 6, 2, 5, 1, 3]
    rows = Rows(DIM, limit)
    for client in arrival:
        rows.add(matrix[client])
    return rows, matrix, [arrival.index(client) for client in range(COUNT)]


def test_rows_are_read_in_the_order_asked_for(kept: tuple[Rows, np.ndarray, list[int]]) -> None:
    rows, matrix, order = kept
    arranged = rows.arranged(order)
    assert arranged.shape == (COUNT, DIM)
    assert len(arranged) == COUNT
    np.testing.assert_array_equal(np.asarray(arranged), matrix)
    np.testing.assert_array_equal(np.ones(DIM, np.float32) + arranged, 1 + matrix)
    np.testing.assert_array_equal(list(rows.arranged(order[2:4])), matrix[2:4])


def test_sums_have_the_bits_of_the_matrix(kept: tuple[Rows, np.ndarray, list[int]]) -> None:
    rows, matrix, order = kept
    arranged = rows.arranged(order)
    weights = rng(0, "weights").random(COUNT)
    np.testing.assert_array_equal(weighted_sum(weights, arranged), weighted_sum(weights, matrix))
    np.testing.assert_array_equal(arranged.sum(axis=0, dtype=np.float64), matrix.sum(axis=0, dtype=np.float64))
    np.testing.assert_array_equal(arranged.mean(axis=0, dtype=np.float64), matrix.mean(axis=0, dtype=np.float64))


def test_beyond_the_limit_nothing_stays_in_memory() -> None:
    rows = Rows(DIM, limit=2 * DIM * 4)
    for number in range(50):
        rows.add(np.full(DIM, number, dtype=np.float32))
    assert len(rows.held) == 2
    assert [row[0] for row in rows.arranged(range(50))] == list(range(50))


def test_rows_that_were_summed_elsewhere_have_one_sum_and_no_single_row() -> None:
    weights = np.array([0.25, 0.75])
    rows = Summed(2, weights, np.array([1.0, -2.0, 3.0]), {"squared_norm": 5.0})
    assert (rows.shape, len(rows), rows.numbers["squared_norm"]) == ((2, 3), 2, 5.0)
    assert weighted_sum(weights.copy(), rows).tolist() == [1.0, -2.0, 3.0]  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one sum: that by the weights agreed on"):
        rows.weighted_sum(np.array([0.5, 0.5]))
    for look in (lambda: next(iter(rows)), lambda: np.asarray(rows), lambda: rows.add(np.zeros(3, np.float32))):
        with pytest.raises(ConfigError, match="not known one by one"):
            look()
