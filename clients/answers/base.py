"""Numbers and vectors that a server may ask a client for, and how they declare themselves.

    @number("initial_loss")
    def initial_loss(facts): ...

A number leaves the client as it is, with the answer to the first query (`asks` of a weighting) or with every reply (`reports`).
A vector of whole numbers leaves it only under the masks of a secure sum. Nothing else leaves it: never a label, never a histogram.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_data import Samples
from fl_models.flat import FlatModel
from fl_tasks import Classification, Task


@dataclass(frozen=True)
class Facts:
    """What an answer may be computed from; `flat` holds the model that was received, if one was."""

    counts: NDArray[np.int64]  # of each class in the client's training data
    data: Samples
    num_classes: int
    flat: FlatModel
    task: Task = field(default_factory=Classification)


Number = Callable[..., float]
Vector = Callable[..., NDArray[np.int64]]
NUMBERS: dict[str, Number] = {}
VECTORS: dict[str, Vector] = {}


def number(name: str) -> Callable[[Number], Number]:
    def declare(made: Number) -> Number:
        NUMBERS[name] = made
        return made

    return declare


def vector(name: str) -> Callable[[Vector], Vector]:
    def declare(made: Vector) -> Vector:
        VECTORS[name] = made
        return made

    return declare


def answer(table: dict[str, Any], name: str, facts: Facts, arguments: dict[str, Any] | None = None) -> Any:
    """One entry of a table, computed; a sentence for a name that it does not have."""
    if name not in table:
        raise ConfigError(
            f"The server asks for {name!r}, which this client does not answer; it knows {', '.join(table)}."
        )
    return table[name](facts, **(arguments or {}))
