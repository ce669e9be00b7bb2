"""Figures of label skew, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fl_data import label_counts, skew


def test_skew_by_hand() -> None:
    figures = skew(np.array([[4, 0], [2, 2], [0, 4]]))
    assert figures["kl"] == pytest.approx([np.log(2), 0, np.log(2)])
    assert figures["tv"] == pytest.approx([0.5, 0, 0.5])
    assert figures["mean_kl"] == pytest.approx(2 * np.log(2) / 3)
    assert skew(np.array([[3, 1], [0, 0]]))["tv"].tolist() == [0, 0]


def test_counts_of_numbers_and_of_many_classes() -> None:
    parts = [np.array([0, 1, 2]), np.array([3])]
    assert label_counts(np.linspace(0, 1, 4), parts, 0).tolist() == [[3], [1]]
    assert label_counts(np.zeros((4, 2)), parts, 0).tolist() == [[3, 3], [1, 1]]
    many = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], dtype=np.float32)
    assert label_counts(many, parts, 2).tolist() == [[2, 1], [0, 1]]
