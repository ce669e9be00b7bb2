"""The client's half of SCAFFOLD, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from clients.objectives.scaffold import Scaffold, ScaffoldParams
from tests.clients.objectives.rounds import a_round, close, finish, gradient_at, vec


@pytest.mark.parametrize(
    ("params", "momentum", "shift", "divisor"),
    [
        ({}, 0.0, vec(2 - 1, 4 + 1), 8 * 0.25),
        ({"lr_in_cv": "initial"}, 0.0, vec(2 - 1, 4 + 1), 8 * 0.5),
        ({"size_scaled": True}, 0.0, vec(1 - 1, 2 + 1), 4 * 0.5),
        ({"size_scaled": True, "lr_in_cv": "current"}, 0.0, vec(1 - 1, 2 + 1), 4 * 0.25),
        # K' of 8 steps with momentum 1/2: [8 - (1 - 2^-8)] * 2
        ({}, 0.5, vec(2 - 1, 4 + 1), 2 * (7 + 2**-8) * 0.25),
    ],
)
def test_scaffold_shifts_the_gradient_and_estimates_its_mean(
    params: dict[str, Any], momentum: float, shift: Tensor, divisor: float
) -> None:
    r = a_round(state={"c": vec(1, -1)}, extra={"c": vec(2, 4)}, momentum=momentum)
    objective = Scaffold(ScaffoldParams(**params))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), shift)
    finish(objective, r, vec(3, 5))
    change = -vec(2, 4) - vec(2, 3) / divisor  # the plain c is subtracted, in the size-scaled form too
    close(r.reply["delta_c"], change)
    close(r.state["c"], vec(1, -1) + change)
