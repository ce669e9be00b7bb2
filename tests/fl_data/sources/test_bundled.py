"""scikit-learn's digits, which need no network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from fl_data.catalog import CATALOG
from fl_data.sources.bundled import from_bundle


def test_every_fifth_sample_of_a_class_is_for_testing(tmp_path: Path) -> None:
    entry = CATALOG["digits"]
    data, bundle = from_bundle(entry, entry.sources[0], tmp_path), load_digits()
    counts = np.bincount(bundle.target)
    assert np.bincount(data.y_test).tolist() == (counts // 5).tolist()
    assert np.bincount(data.y_train).tolist() == (counts - counts // 5).tolist()
    assert (data.x_train.dtype, data.x_train.shape[1:], data.x_train.max()) == (np.uint8, (1, 8, 8), 255)
    fifth_zero = np.flatnonzero(bundle.target == 0)[4]
    first_of_test = data.x_test[np.flatnonzero(data.y_test == 0)[0], 0]
    assert np.array_equal(first_of_test, np.rint(bundle.images[fifth_zero] * 255 / 16))
