"""What every server optimizer shares with the plain average: pure functions and checked parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fl_strategies.server_update.adaptive import (
    Adagrad,
    AdagradParams,
    Adam,
    AdamParams,
    Yogi,
)
from fl_strategies.server_update.average import average_buffers
from fl_strategies.server_update.base import ServerStep
from fl_strategies.server_update.exp import Exp, ExpParams
from fl_strategies.server_update.momentum import Momentum, MomentumParams
from tests.fl_strategies.server_update.optimizer_round import random_round, settings

OPTIMISERS: list[ServerStep] = [
    Momentum(MomentumParams()), Adam(AdamParams()), Yogi(AdamParams()), Adagrad(AdagradParams()),
    Exp(ExpParams()), Exp(ExpParams(eval_average=True, momentum=0.9)),
]  # fmt: skip


@pytest.mark.parametrize("step", OPTIMISERS, ids=lambda step: type(step).__name__)
def test_optimisers_change_neither_their_inputs_nor_their_old_state(step: ServerStep) -> None:
    omega, updates, weights = random_round(5)
    _, state = step.optimise(omega, updates, weights, step.init(6), settings())
    before = {name: value.copy() for name, value in state.items()}
    inputs = (omega.copy(), updates.copy(), weights.copy())
    first = step.optimise(omega, updates, weights, state, settings(2))
    again = step.optimise(omega, updates, weights, state, settings(2))
    assert np.array_equal(first[0], again[0]) and first[0].dtype == np.float32
    for given, copy in zip((omega, updates, weights), inputs, strict=True):
        assert np.array_equal(given, copy)
    assert all(np.array_equal(state[name], value) for name, value in before.items())


def test_parameters_have_descriptions_and_refuse_values_without_meaning() -> None:
    for kind in (MomentumParams, AdamParams, AdagradParams, ExpParams):
        assert all(field.description for field in kind.model_fields.values())
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (MomentumParams, {"beta": 1.0}),
        (MomentumParams, {"lr": 0}),
        (MomentumParams, {"dampening": 0.5, "nesterov": True}),
        (AdamParams, {"beta2": 1.0}),
        (AdamParams, {"tau": 0}),
        (AdagradParams, {"beta2": 0.9}),
        (ExpParams, {"eps": -1}),
    ]
    for kind, values in wrong:
        with pytest.raises(ValidationError):
            kind(**values)


def test_statistics_are_averaged_and_counters_are_not() -> None:
    one = {"mean": np.array([1.0, 2.0], dtype=np.float32), "batches": np.array(3)}
    other = {"mean": np.array([5.0, -2.0], dtype=np.float32), "batches": np.array(8)}
    averaged = average_buffers([one, other], np.array([0.25, 0.75]))
    np.testing.assert_array_equal(averaged["mean"], [4.0, -1.0])
    assert averaged["mean"].dtype == np.float32
    assert averaged["batches"] == 8 and averaged["batches"].dtype == np.int64
    assert one["mean"].tolist() == [1, 2]
