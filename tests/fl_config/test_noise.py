"""Noise of a seed is the same again, noise of the system never is, and both are normal."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.noise import normal


@pytest.mark.parametrize("seed", [3, None])
def test_numbers_are_standard_normal(seed: int | None) -> None:
    drawn = np.sort(normal(200_000, seed, 1))
    assert abs(drawn.mean()) < 0.012 and abs(drawn.var() - 1.0) < 0.02  # five deviations of each estimate
    for bound, below in ((-1.0, 0.158655), (0.0, 0.5), (2.0, 0.977250)):
        assert np.searchsorted(drawn, bound) / drawn.size == pytest.approx(below, abs=0.006)
    assert np.isfinite(drawn).all()


def test_a_seed_gives_its_numbers_again_and_the_system_does_not() -> None:
    assert np.array_equal(normal(5, 3, 1, "a"), normal(5, 3, 1, "a"))
    for other in (normal(5, 3, 2, "a"), normal(5, 3, 1, "b"), normal(5, 4, 1, "a"), normal(5, None, 1, "a")):
        assert not np.array_equal(normal(5, 3, 1, "a"), other)
    assert not np.array_equal(normal(5, None), normal(5, None))
