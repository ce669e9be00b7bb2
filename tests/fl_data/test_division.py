"""A public data set among simulated clients: everybody's rows, once, and what is held out of them."""

from __future__ import annotations

import numpy as np

from fl_config.options import options
from fl_data import load
from fl_data.division import Division, counts_of, parts_of, samples_of

CONFIG = options({"dataset": "digits", "partition": "dirichlet:0.3", "clients": 6, "seed": 2})


def test_every_training_sample_is_at_one_client() -> None:
    dataset = load("digits")
    parts = parts_of(Division.of(CONFIG))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(dataset.y_train)))
    counts = counts_of(CONFIG, dataset)
    assert counts.tolist() == [np.bincount(dataset.y_train[part], minlength=10).tolist() for part in parts]


def test_a_client_has_its_rows_and_holds_some_of_them_out() -> None:
    division = Division.of(CONFIG)
    train, held = samples_of(division, 1, 0.25, "cpu")
    total = len(parts_of(division)[1])
    assert len(train) + len(held) == total and abs(len(held) - total / 4) <= 10  # by class, so rounded ten times
    assert samples_of(division, 1, 0.25, "cpu")[0] is train, "the samples are read anew in every round"
    everything, nothing = samples_of(division, 1, 0.0, "cpu")
    assert (len(everything), len(nothing)) == (total, 0)
