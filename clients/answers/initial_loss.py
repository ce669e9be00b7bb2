"""F_i(omega), the client's mean training loss at the model that it received, before it trains: what AFL climbs on."""

from __future__ import annotations

from clients.answers.base import Facts, number
from fl_tasks.classification import evaluate


@number("initial_loss")
def initial_loss(facts: Facts) -> float:
    return evaluate(facts.flat.model, facts.data, facts.num_classes).loss
