"""The census of a simulation: what its clients would say of themselves, computed from the partition by the clients' own functions."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from clients.answers import Facts, number_of
from fl_data.division import Division, names_of, training_counts, training_sizes
from fl_runs.plan import Plan
from fl_strategies.population.census import Census, OnlyTheClientKnows
from fl_tasks import CLASSES, LABELS
from simulation.engines.transport.wire import FIRST_NODE


class Unseen:
    """Stands for a client's samples or its model; whoever looks at it needs the client."""

    def __getattr__(self, name: str) -> NoReturn:
        raise OnlyTheClientKnows(name)

    def __len__(self) -> NoReturn:
        raise OnlyTheClientKnows


def census_of(plan: Plan) -> Census:
    config, task, held_out = plan.config, plan.task, plan.held_out
    division = Division.of(config, LABELS[task.family])
    classes = division.load().num_classes
    unseen: Any = Unseen()

    def answer(client: int, name: str, arguments: dict[str, Any]) -> float:
        counted = CLASSES in task.offers
        counts = training_counts(division, client, held_out) if counted else np.zeros(0, dtype=np.int64)
        return number_of(name, Facts(counts, unseen, classes, unseen, task), arguments)

    ids = names_of(division) or range(config.clients)
    return Census(ids, FIRST_NODE, training_sizes(division, held_out), answer)
