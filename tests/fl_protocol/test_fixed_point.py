"""Real numbers in secure sums: how far off they are, and what has no place."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_protocol.fixed_point import LARGEST, from_fixed, to_fixed


def test_a_sum_is_off_by_at_most_its_parts() -> None:
    parts = np.random.default_rng(0).normal(scale=1000, size=(50, 40))
    total = from_fixed(np.sum([to_fixed(part) for part in parts], axis=0))
    assert np.abs(total - parts.sum(axis=0)).max() <= 50 * 2.0**-25
    assert to_fixed([0.0, 1.0, -0.5]).tolist() == [0, 2**24, -(2**23)]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -LARGEST])
def test_what_does_not_fit_is_a_sentence(wrong: float) -> None:
    with pytest.raises(ConfigError, match="finite numbers below 274877906944"):
        to_fixed([1.0, wrong])
