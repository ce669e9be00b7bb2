"""Memory for replies: fresh, or the engine's."""

from __future__ import annotations

import numpy as np

from fl_protocol.outgoing import lending, outgoing_vector


def test_without_a_lender_memory_is_fresh() -> None:
    first, second = outgoing_vector(3), outgoing_vector(3)
    first[:], second[:] = 1.0, 2.0
    assert first.dtype == np.float32 and first.tolist() == [1.0, 1.0, 1.0]


def test_the_lender_is_asked_first_and_may_have_no_room() -> None:
    board = np.zeros(4, dtype=np.float32)
    with lending(lambda size: board[:size] if size <= 4 else None):
        outgoing_vector(2)[:] = 5.0
        larger = outgoing_vector(5)
        larger[:] = 7.0
    outgoing_vector(4)[:] = 9.0
    assert board.tolist() == [5.0, 5.0, 0.0, 0.0] and len(larger) == 5
