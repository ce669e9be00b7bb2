"""What local noise costs: per reply, per client, and over the rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.local_cost import Local, local_noise
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.state import RunState


def test_a_client_pays_whenever_it_is_asked() -> None:
    noise = local_noise(2.0, 1e-5)
    assert noise == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 2.0)
    local, state = Local(noise, 1e-5), RunState(0, np.zeros(1, dtype=np.float32), {})
    assert local.figures(state) == {"privacy/epsilon": 0.0, "privacy/epsilon_basic": 0.0}
    for round, clients in enumerate(([0, 1], [1, 2], [0, 1]), start=1):
        state.parts[KEY] = local.asked(round, clients, state.of(KEY))
    told, one = local.figures(state), epsilon(noise, 1.0, 1, 1e-5)
    assert told["privacy/epsilon"] == epsilon(noise, 1.0, 3, 1e-5), "client 1 was asked three times"
    assert told["privacy/epsilon_basic"] == pytest.approx(3 * one)
    assert told["privacy/epsilon"] < told["privacy/epsilon_basic"]
    assert one < 2.0, "the usual formula wastes noise here"
    assert f"{one:.4g}" in local.says(state)["privacy"]


def test_the_usual_formula_promises_too_much_for_a_large_epsilon() -> None:
    assert epsilon(local_noise(1.0, 1e-5), 1.0, 1, 1e-5) < 1.0
    assert epsilon(local_noise(30.0, 1e-5), 1.0, 1, 1e-5) > 30.0
