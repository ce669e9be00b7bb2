"""The client's half of FedVRA, with numbers worked out by hand."""

from __future__ import annotations

from clients.objectives.vra import Vra, VraParams
from tests.clients.objectives.rounds import a_round, close, finish, gradient_at, vec


def test_vra_adds_the_dual_variable_and_the_penalty() -> None:
    r = a_round(state={"lambda": vec(0.5, -0.5)})
    objective = Vra(VraParams(gamma=0.1, a=7, d=10))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), vec(0.5 + 0.1 * 2, -0.5 + 0.1 * 3))
    finish(objective, r, vec(3, 5))
    close(r.state["lambda"], vec(0.5 + 0.7 * 2, -0.5 + 0.7 * 3))
