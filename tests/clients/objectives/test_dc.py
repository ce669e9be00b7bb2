"""The client's half of FedDC, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from clients.objectives.dc import Dc, DcParams
from tests.clients.objectives.rounds import a_round, close, finish, gradient_at, vec


@pytest.mark.parametrize(
    ("lr_in_cv", "momentum", "divisor"),
    [("initial", 0.0, 2.0), ("current", 0.0, 1.0), ("initial", 0.5, 2 * (3 + 2**-4) * 0.5)],
)
def test_dc_by_hand(lr_in_cv: Any, momentum: float, divisor: float) -> None:
    r = a_round(state={"h": vec(1, -1), "s": vec(0.5, 0)}, extra={"s": vec(2, 4)}, momentum=momentum)
    objective = Dc(DcParams(alpha=0.4, lr_in_cv=lr_in_cv))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), 0.2 * vec(3, 2) + vec(1 - 0.5, 2))
    finish(objective, r, vec(3, 5))
    change = -vec(1, 2) - vec(2, 3) / divisor
    close(r.reply["delta_s"], change)
    close(r.state["s"], vec(0.5, 0) + change)
    close(r.state["h"], vec(3, 2))
    assert objective.extra_decay == 0  # the whole term is inside the clip
