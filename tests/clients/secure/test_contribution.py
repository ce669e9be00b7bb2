"""What a client adds to a masked sum: by hand, with two parameters, a buffer and the numbers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from clients.secure.contribution import contribution, weighted
from clients.secure.round_secrets import RoundSecrets
from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.messages import Masks, NoiseShare, Train
from fl_protocol.replies import Trained
from fl_protocol.settings import LocalSettings

SENT = {"w": np.array([[1.0, 2.0]], np.float32), "mean": np.array([0.5], np.float32), "count": np.array(3), "b": np.ones(1, np.float32)}  # fmt: skip
OWN = {"w": np.array([[2.0, 0.0]], np.float32), "mean": np.array([1.5], np.float32), "count": np.array(7), "b": np.zeros(1, np.float32)}  # fmt: skip


def vector(numbers: list[str]) -> Any:
    agreed = RoundSecrets.fresh("s")
    agreed.weights, agreed.sizes, agreed.place = [0.75, 0.25], [0.5, 0.5], 1
    order = Train(to_record(SENT), LocalSettings(), masks=Masks("s", [], numbers))
    return contribution(order, Trained(OWN, {"train-loss": 3.0}), ["b", "w"], agreed)


def test_everything_is_a_change_by_its_weight() -> None:
    assert vector([]).tolist() == [0.25, -0.5, -0.25, 0.25, 1.0, 1.5]
    assert vector(["squared_norm"]).tolist() == [0.25, -0.5, -0.25, 0.25, 1.0, 1.5, 0.25 * 6]


def test_a_number_that_nobody_computes_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="sums 'median', which this client does not compute; it knows squared_norm"):
        vector(["median"])


def noisy(update: NDArray[np.float64], weights: list[float], place: int, threshold: int, noise: NoiseShare) -> Any:
    agreed = RoundSecrets.fresh("session")
    agreed.weights, agreed.place, agreed.threshold = weights, place, threshold
    order = Train(ArrayRecord(), LocalSettings(), round=2, noise=noise)
    return weighted(update, agreed, order)


def test_shares_of_the_noise_make_the_whole_of_the_fewest_clients() -> None:
    """z = 2, C = 0.5, the largest weight 0.4: together three of them have the deviation 2 * 0.5 * 0.4 or more."""
    dim, weights = 40_000, [0.4, 0.3, 0.2, 0.1]
    share = NoiseShare(clip=0.5, multiplier=2.0, seed=9)
    drawn = [noisy(np.zeros(dim), weights, place, 3, share) for place in range(4)]
    for each in drawn:
        assert each.std() == pytest.approx(0.4 / np.sqrt(3), rel=0.02), "the same for every weight"
    assert np.sum(drawn[1:], axis=0).std() == pytest.approx(0.4, rel=0.02)
    assert np.sum(drawn, axis=0).std() == pytest.approx(0.4 * np.sqrt(4 / 3), rel=0.02)
    assert np.array_equal(drawn[0], noisy(np.zeros(dim), weights, 0, 3, share))
    secret = NoiseShare(clip=0.5, multiplier=2.0)
    assert not np.array_equal(noisy(np.zeros(9), weights, 0, 3, secret), noisy(np.zeros(9), weights, 0, 3, secret))


def test_an_update_is_clipped_before_it_is_weighed() -> None:
    silent = NoiseShare(clip=0.5, multiplier=0.0, seed=1)
    assert noisy(np.array([3.0, 4.0]), [0.4, 0.6], 0, 2, silent) == pytest.approx([0.4 * 0.3, 0.4 * 0.4])
    assert noisy(np.array([0.3, 0.0]), [0.4, 0.6], 1, 2, silent) == pytest.approx([0.6 * 0.3, 0.0])
