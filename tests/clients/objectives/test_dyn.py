"""The client's half of FedDyn, with numbers worked out by hand; FedSpeed has the same term with another strength."""

from __future__ import annotations

from typing import Any

import pytest

from clients.objectives.dyn import Dyn, DynParams
from clients.objectives.speed import Speed
from clients.optimizers import SpeedParams
from tests.clients.objectives.rounds import a_round, close, finish, gradient_at, vec


@pytest.mark.parametrize("prox_in_wd", [True, False])
@pytest.mark.parametrize(
    ("kind", "values", "strength"), [(Dyn, DynParams(alpha=0.4), 0.2), (Speed, SpeedParams(lam=0.4), 0.4)]
)
def test_dyn_and_speed_pull_towards_the_shifted_anchor(
    kind: Any, values: Any, strength: float, prox_in_wd: bool
) -> None:
    r = a_round(state={"h": vec(1, -1)})
    objective = kind(values.model_copy(update={"prox_in_wd": prox_in_wd}))
    objective.begin_round(r)
    # theta - omega + h = (3, 5) - (1, 2) + (1, -1) = (3, 2)
    close(gradient_at(objective, r, vec(3, 5)), strength * vec(3, 2))
    assert objective.extra_decay == pytest.approx(strength if prox_in_wd else 0.0)
    finish(objective, r, vec(3, 5))
    close(r.state["h"], vec(3, 2))
    assert r.reply == {}
