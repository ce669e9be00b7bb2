"""FedSpeed's prox term beside FedDyn's, over whole rounds."""

from __future__ import annotations

import numpy as np

from tests.methods.quadratic_clients import EQUAL, PARTIAL, UNEQUAL, Federation


def test_speed_without_extra_gradient_is_dyn_on_equal_sizes_only() -> None:
    speed = Federation("speed", EQUAL, lam=0.3).run(PARTIAL)
    np.testing.assert_array_equal(speed, Federation("dyn", EQUAL, alpha=0.3).run(PARTIAL))
    speed = Federation("speed", UNEQUAL, lam=0.3).run(PARTIAL)
    assert not np.allclose(speed, Federation("dyn", UNEQUAL, alpha=0.3).run(PARTIAL), atol=1e-3)
