"""What a client adds to a masked sum: by hand, with two parameters, a buffer and the numbers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clients.secure.contribution import contribution
from clients.secure.round_secrets import RoundSecrets
from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.messages import Masks, Train
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
