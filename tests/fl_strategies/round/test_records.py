"""Records become JSON that every reader can read."""

from __future__ import annotations

import json

import numpy as np

from fl_strategies.round.records import plain


def test_numpy_values_are_unpacked_and_what_is_not_finite_is_null() -> None:
    record = {
        1: np.float32(0.5),
        "array": np.array([[1.0, np.nan], [np.inf, 2.0]]),
        "nested": {"tuple": (np.int64(3), -float("inf")), "truth": np.bool_(True)},
        "text": "as it is",
        "none": None,
    }
    made = plain(record)
    assert made == {
        "1": 0.5,
        "array": [[1.0, None], [None, 2.0]],
        "nested": {"tuple": [3, None], "truth": True},
        "text": "as it is",
        "none": None,
    }
    assert json.loads(json.dumps(made, allow_nan=False)) == made
