"""One vector for an update, buffers and numbers: what is put together comes apart again."""

from __future__ import annotations

import numpy as np

from fl_protocol.contributions import Contributions
from fl_protocol.layout import Layout

NAMED = {"w": np.zeros((2, 2), np.float32), "mean": np.zeros(3, np.float32), "b": np.zeros(1, np.float32), "count": np.array(1)}  # fmt: skip


def test_what_is_joined_comes_apart_again() -> None:
    whole = Contributions(Layout.of(NAMED, ["w", "b"]), ("squared_norm",))
    buffers = {"mean": np.array([6.0, 7.0, 8.0]), "count": np.array(9.0)}
    vector = whole.joined(np.arange(1.0, 6.0), buffers, {"squared_norm": 11.0, "train-loss": 10.0})
    assert vector.tolist() == list(range(1, 12)) and len(vector) == whole.length
    update, again, numbers = whole.parted(vector)
    assert update.tolist() == [1, 2, 3, 4, 5]
    assert again["mean"].tolist() == [6, 7, 8] and again["count"].shape == () and again["count"] == 9
    assert numbers == {"train-loss": 10.0, "squared_norm": 11.0}


def test_a_model_without_buffers_has_its_loss_last() -> None:
    whole = Contributions(Layout.of({"w": NAMED["w"]}, ["w"]))
    update, buffers, numbers = whole.parted(whole.joined(np.ones(4), {}, {"train-loss": 2.0}))
    assert (whole.length, update.tolist(), buffers, numbers) == (5, [1, 1, 1, 1], {}, {"train-loss": 2.0})
