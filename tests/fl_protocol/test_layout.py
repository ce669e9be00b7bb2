"""A model as one vector and back: order, buffers, and what stays private."""

from __future__ import annotations

import numpy as np

from fl_protocol.layout import Layout

ARRAYS = {
    "norm.mean": np.array([9.0, 8.0], dtype=np.float32),
    "body.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "norm.batches": np.array(4),
    "head.bias": np.array([7.0], dtype=np.float32),
}
LAYOUT = Layout.of(ARRAYS, ["head.bias", "body.weight"], ["head.bias"])


def test_the_vector_has_the_parameters_in_their_order_and_nothing_else() -> None:
    vector = LAYOUT.pack(ARRAYS)
    assert vector.dtype == np.float32 and vector.tolist() == [7, 0, 1, 2, 3, 4, 5]
    assert LAYOUT.dim == 7
    assert LAYOUT.buffers == ["norm.mean", "norm.batches"]
    assert LAYOUT.dtypes["norm.batches"] == "int64"


def test_unpacking_gives_the_state_dict_in_its_own_order() -> None:
    buffers = {name: ARRAYS[name] for name in LAYOUT.buffers}
    again = LAYOUT.unpack(LAYOUT.pack(ARRAYS), buffers)
    assert list(again) == list(ARRAYS)
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(again[name], value)


def test_what_is_private_is_not_shared() -> None:
    assert LAYOUT.shared == {"norm.mean": (2,), "body.weight": (2, 3), "norm.batches": ()}
