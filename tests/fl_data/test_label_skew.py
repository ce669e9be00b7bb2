"""Figures of label skew, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import skew


def test_skew_by_hand() -> None:
    figures = skew(np.array([[4, 0], [2, 2], [0, 4]]))
    assert figures["kl"] == pytest.approx([np.log(2), 0, np.log(2)])
    assert figures["tv"] == pytest.approx([0.5, 0, 0.5])
    assert figures["mean_kl"] == pytest.approx(2 * np.log(2) / 3)
    assert skew(np.array([[3, 1], [0, 0]]))["tv"].tolist() == [0, 0]
