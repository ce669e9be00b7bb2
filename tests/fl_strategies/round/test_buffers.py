"""Buffers of a model (BatchNorm) over a cohort: means by weight, counters by maximum."""

from __future__ import annotations

import numpy as np
from fl_strategies.round.buffers import average_buffers


def test_statistics_are_averaged_and_counters_are_not() -> None:
    one = {"mean": np.array([1.0, 2.0], dtype=np.float32), "batches": np.array(3)}
    other = {"mean": np.array([5.0, -2.0], dtype=np.float32), "batches": np.array(8)}
    averaged = average_buffers([one, other], np.array([0.25, 0.75]))
    np.testing.assert_array_equal(averaged["mean"], [4.0, -1.0])
    assert averaged["mean"].dtype == np.float32
    assert averaged["batches"] == 8 and averaged["batches"].dtype == np.int64
    assert one["mean"].tolist() == [1, 2]
