"""Statistics of a data set's channels, and what a reader hands over."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data.dataset import Dataset, Decoded, channel_statistics


def test_statistics_are_those_of_all_pixels_of_a_channel() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5000, 3, 2, 3), dtype=np.uint8)  # more than one slice
    mean, std = channel_statistics(images)
    assert mean == pytest.approx((images / 255).mean(axis=(0, 2, 3)), rel=1e-12)
    assert std == pytest.approx((images / 255).std(axis=(0, 2, 3)), rel=1e-12)


def test_a_constant_channel_is_divided_by_one() -> None:
    mean, std = channel_statistics(np.full((4, 1, 2, 2), 51, dtype=np.uint8))
    assert mean == pytest.approx((0.2,)) and std == (1.0,)


def test_names_and_shapes() -> None:
    x, y = np.zeros((4, 1, 2, 3), np.uint8), np.zeros(4, np.int64)
    decoded = Decoded(x, y, x[:2], y[:2], ("a",))
    assert list(decoded.arrays()) == ["x_train", "y_train", "x_test", "y_test"]
    assert decoded.arrays()["x_test"].shape == (2, 1, 2, 3)
    assert Dataset("toy", "image", x, y, x, y, 1, ("a",), (0.0,), (1.0,), True).shape == (1, 2, 3)
