"""F_i(omega), the client's mean training loss at the model that it received, before it trains: what AFL climbs on."""

from __future__ import annotations

from clients.answers.base import Facts, number
from fl_tasks.evaluation import evaluate


@number("initial_loss")
def initial_loss(facts: Facts) -> float:
    return float(evaluate(facts.flat.model, facts.data, facts.task, ())["loss"])
